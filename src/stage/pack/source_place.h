// Where the tree lies that is read, so that nothing is written into it: by its name and, since a directory may
// have several (mount --bind, a file system that is mounted twice), by device and inode.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace belay::stage {

// What no other file or directory of this machine is, for as long as it is there.
struct FileId {
    uint64_t device = 0;
    uint64_t inode = 0;
    bool operator==(const FileId&) const = default;
};

FileId id_of(const struct stat& status);
// Nothing where it cannot be looked at; links are followed.
std::optional<FileId> id_of(const std::filesystem::path& path);

// The directories of a tree, its root among them.
struct SourceDirectories {
    uint64_t device = 0;                // of all: what is mounted there is not entered
    std::vector<uint64_t> inodes = {};  // sorted
    bool hold(const FileId& directory) const;
};

// Of a set of files that is copied.
struct SourcePlace {
    uint64_t device = 0;                 // of the files
    SourceDirectories directories = {};  // none of a single file
};

// Whether `place`, which need not exist, is `source` or within it: by their names, or as one of its
// directories. `what` is done with the source: "copied". Errors: kBadInput where it is.
core::Result<> refuse_place_in_source(const std::filesystem::path& source, const std::filesystem::path& place,
                                      std::string_view what, const SourceDirectories& directories = {});

}  // namespace belay::stage
