// The files of a source, opened one by one: each must still be the one that was listed, and no name leads out of the tree.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace belay::stage {

struct SourceFile {
    std::string path;  // beneath the root
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
    uint64_t inode = 0;
    bool is_link = false;  // symbolic, to a file within the tree, whose facts these are
    bool operator==(const SourceFile&) const = default;
};

// "path\0bytes\0modified\n": what digests of a source are made of.
std::string line_of(const SourceFile& file);

// The regular file to which a symbolic link within the tree leads. Errors: kBadInput where it leads out of the tree, to a directory
// or to nothing.
core::Result<SourceFile> follow_link(const core::Directory& root, const std::string& path);

// Opens it without a change of its access time, where it is ours. Errors: kBadInput where it has changed since (another inode, size or
// time); kSystem.
core::Result<core::Descriptor> open_source(const core::Directory& root, const SourceFile& file);

// The whole content in pieces of at most `buffer` bytes; exactly as many as listed. Errors: as open_source, also where it changes
// meanwhile; those of `take`.
using TakeBytes = std::function<core::Result<>(std::string_view)>;
core::Result<> read_source(const core::Directory& root, const SourceFile& file, std::string& buffer, const TakeBytes& take);

}  // namespace belay::stage
