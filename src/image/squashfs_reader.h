// Reads a SquashFS file as data, without mounting it: is it one, what is in it, what does a small file say.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

struct SquashfsFacts {
    uint64_t bytes = 0;  // used, without padding
    uint32_t inodes = 0;
    std::string compression;  // "zstd", "gzip", …
};

// Errors: kBadInput if it is not a SquashFS 4.0 file or shorter than it says; kSystem if it cannot be read.
core::Result<SquashfsFacts> squashfs_facts(const std::filesystem::path& path);

struct SquashfsEntry {
    std::string path;   // "usr/bin/env"; empty for the root
    char type = '?';    // 'f' file, 'd' directory, 'l' symbolic link, '?' anything else
    uint32_t mode = 0;  // permissions, with setuid, setgid and sticky
    uint32_t user = 0;
    uint32_t group = 0;
    uint32_t mtime = 0;
    uint32_t inode = 0;
    uint32_t links = 0;
    uint64_t size = 0;   // of a file
    std::string target;  // of a symbolic link
};

class SquashfsReader {
  public:
    static core::Result<SquashfsReader> open(const std::filesystem::path& path);
    SquashfsReader(SquashfsReader&&) noexcept;
    ~SquashfsReader();

    // All entries, directories before what is in them, in the order of their names.
    core::Result<std::vector<SquashfsEntry>> list() const;
    // The content of a regular file, no symbolic link followed. Errors: kSystem, also for one that is larger
    // than `limit` or not there.
    core::Result<std::string> read(const std::string& path, size_t limit) const;
    // As read(), but nothing where there is no regular file of that path.
    core::Result<std::optional<std::string>> read_if_there(const std::string& path, size_t limit) const;

  private:
    struct State;
    explicit SquashfsReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::image
