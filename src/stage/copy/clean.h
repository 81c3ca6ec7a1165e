// belay stage clean: takes away what a copy brought, at the end of a job.
#pragma once

#include "core/error.h"
#include "core/hash.h"
#include "stage/copy/file_look.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::stage {

struct Cleaned {
    uint64_t files = 0;       // of copies, that were removed
    uint64_t bytes = 0;       // of these
    bool unfinished = false;  // there were parts of a copy that was not finished: removed too
    std::vector<std::string> kept =
        {};  // files that were copied and are not any more as they were then; the first kMostKept
    uint64_t kept_count = 0;
};
inline constexpr size_t kMostKept = 20;

// Asked once no copy to that place can begin any more: whether what is there stays after all.
using StillWanted = std::function<bool()>;

// What of a directory goes: all that copies brought there, or what one of them did.
struct CleanScope {
    std::optional<core::Sha256Digest> plan = {};
    std::optional<FileIdentity> directory = {};  // nothing goes where it is another by now
};

// Of the directory `destination`, the files that copies brought (brought.h), as far as they still are those, by
// inode, and have the size, time and owner of the copy; then the directories that copies made and that are empty,
// the destination among them. What lay there before or was put there since stays, and .belay-copy with it where a
// file of a copy was kept. Errors: kBadInput where there is no copy (kNotFound), where it is another user's, or
// being made; kSystem.
core::Result<Cleaned> clean_copy(const std::filesystem::path& destination, const CleanScope& scope = {},
                                 const StillWanted& is_wanted = {});

struct CopiedFile {
    std::filesystem::path path;
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
    FileIdentity identity = {};
    core::Sha256Digest plan{};
};
// Of a single file: the file itself, as far as it is the one that was copied and as it was then, and parts of it
// that is not finished. Errors: kBadInput where it is being copied; kSystem.
core::Result<Cleaned> clean_copied_file(const CopiedFile& file, const StillWanted& is_wanted = {});

}  // namespace belay::stage
