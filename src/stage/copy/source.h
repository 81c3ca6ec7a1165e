// What rank 0 copies: the files of a set, listed once, and read once.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/copy/layout.h"
#include "stage/pack/listing.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace belay::stage {

struct CopySource {
    std::shared_ptr<const core::Directory> root;
    CopyPlan plan;
    SourcePlace place = {};
};

// Of a copy that is made where its source can be seen, or would be: the destination may not be the source
// under another name. Errors: kBadInput where it is, or lies within it; what is not there is not looked at.
core::Result<> refuse_source_as_destination(const std::filesystem::path& source,
                                            const std::filesystem::path& destination,
                                            const SourcePlace& place);
// Likewise, of a source that was not listed here: `source` itself, as far as it is known by that name.
core::Result<> refuse_source_as_destination(const std::filesystem::path& source,
                                            const std::filesystem::path& destination);

struct SourceOptions {
    std::optional<uint64_t> chunk_bytes = {};  // usual_chunk_bytes()
    LinkRule links = LinkRule::kFollow;
    bool only_packed = false;  // anything else is an error
    size_t threads = 8;        // that look at files
};

// A file; a packed data set, of which the files that its manifest names and no others; or all files of a
// directory. Directories without files are not copied. Errors: kBadInput for what is not there or cannot be
// copied (devices, links that lead elsewhere), a manifest that is damaged, and as check_plan(); kSystem.
core::Result<CopySource> list_copy(const std::filesystem::path& source, const SourceOptions& options);

// Reads a whole segment into memory of its size; from any thread. Errors: kBadInput where the file is not any
// more the one that was listed (size, time, inode), kSystem.
using ReadSegment = std::function<core::Result<>(const Segment& segment, char* into)>;
ReadSegment source_reader(const CopySource& source);

}  // namespace belay::stage
