// How fast files come from storage: read once, after the kernel was asked to forget what it holds of them.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench::roofline {

struct ColdReadOptions {
    size_t threads = 1;
    uint64_t most_bytes = uint64_t{256} << 20;  // are read, and so held, at most
    // Of ranks that read at the same time, each reads other files: those whose number, counted from 0, leaves `part`
    // after division by `parts`.
    size_t part = 0, parts = 1;
    // All ranks meet here, between dropping and reading; nothing for one.
    std::function<core::Result<>()> meet = {};
};

struct ColdRead {
    uint64_t files = 0, bytes = 0;
    double seconds = 0;
    // Of the pages that were about to be read, those that the kernel held in memory still; nothing where it does not say
    // (files of another user, file systems that map no files).
    std::optional<double> cached_share = {};
    double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
    bool is_cold() const { return cached_share && *cached_share <= kColdShare; }
    std::string describe() const;  // "96 files, 192 MB, page cache dropped before"
    static constexpr double kColdShare = 0.02;
};

// What lies in a directory of data.
struct DataFiles {
    struct File {
        std::string name;  // beneath the directory
        uint64_t bytes = 0;
    };
    std::vector<File> files;  // not empty, in an order that is as good as random, and the same everywhere
    uint64_t bytes = 0;
    bool is_all = true;  // false: looking ended at kMostFiles
    static constexpr size_t kMostFiles = 200'000;
};

// All regular files beneath `directory`; symbolic links are not followed. Errors: kBadInput where it is not a
// directory or holds no data; kSystem.
core::Result<DataFiles> list_data(const std::filesystem::path& directory);

// Asks the kernel to drop the pages of the files (posix_fadvise(2), which an ordinary user may ask for clean pages),
// looks at what stays (mincore(2)), and then reads them from `threads` threads. What a file server, a hypervisor or a
// disk keeps in its own memory cannot be dropped, nor seen. Errors: kBadInput where this part has no file; kSystem.
core::Result<ColdRead> read_cold(const std::filesystem::path& directory, const DataFiles& data,
                                 const ColdReadOptions& options);

}  // namespace belay::bench::roofline
