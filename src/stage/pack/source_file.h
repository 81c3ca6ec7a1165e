// The files of a source, opened one by one: each must still be the one that was listed, and no name leads out
// of the tree.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace belay::stage {

struct SourceFile {
    std::string path;  // beneath the root
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
    uint64_t inode = 0;
    bool is_link = false;     // symbolic, to a file within the tree, whose facts these are
    bool executable = false;  // by its owner
    bool operator==(const SourceFile&) const = default;
};

// "path\0bytes\0modified\n": what digests of a source are made of.
std::string line_of(const SourceFile& file);

// The regular file to which a symbolic link within the tree leads. Errors: kBadInput where it leads out of
// the tree, to a directory or to nothing.
core::Result<SourceFile> follow_link(const core::Directory& root, const std::string& path);

// Errors: always kBadInput, that this file is not any more what was listed.
core::Failure changed_since(const core::Directory& root, const std::string& path);

// Whether the opened file is what was listed. Errors: changed_since() where inode, size or time differ; kSystem.
core::Result<> check_unchanged(const core::Directory& root, int opened, const SourceFile& file);

using TakeBytes = std::function<core::Result<>(std::string_view)>;

// One file alone; as SourceReader::open().
core::Result<core::Descriptor> open_source(const core::Directory& root, const SourceFile& file);

// Opens the files of a source one after the other, without a change of their access times where they are
// ours. It keeps the directory of the last one open, so that files in the order of their paths cost one
// look-up each. Of one thread; the root lives longer.
class SourceReader {
  public:
    explicit SourceReader(const core::Directory& root) : root_(&root) {}

    // Errors: kBadInput where it has changed since (another inode, size or time); kSystem.
    core::Result<core::Descriptor> open(const SourceFile& file);
    // The whole content in pieces of at most `buffer` bytes; exactly as many as listed. What was taken is
    // only to be used when this returns. Errors: as open(), also where it changes meanwhile; those of `take`.
    core::Result<> read(const SourceFile& file, std::span<char> buffer, const TakeBytes& take);

  private:
    core::Result<core::Descriptor> open_unchecked(const SourceFile& file);
    core::Descriptor open_by_name(const std::string& path, int flags);

    const core::Directory* root_;
    std::string directory_path_;
    core::Descriptor directory_;  // none for the root
};

}  // namespace belay::stage
