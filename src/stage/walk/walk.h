// Everything beneath a directory, read by several threads at once: what is there and how large, old and whose
// it is. No link is followed and no other file system is entered, whoever changes the tree meanwhile.
//
//   std::vector<Sums> sums(threads);
//   BELAY_TRY(report, walk(root, {.threads = threads},
//                          [&](size_t thread, const Listing& files) { sums[thread].add(files); }));
//
// What takes long is a call to the metadata server for each directory and for each file. Those of the files
// of one directory are spread over the threads too, so that a directory with a million files is not read by
// one of them alone.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// What the file system says of one name. Times are nanoseconds since 1970.
struct Entry {
    std::string name = {};  // any bytes but '/' and 0
    core::FileType type = core::FileType::kOther;
    uint64_t bytes = 0;            // as it reads
    uint64_t allocated_bytes = 0;  // on the device; less than `bytes` where it is sparse
    int64_t modified = 0;
    int64_t accessed = 0;  // 0 where the file system does not keep it
    int64_t changed = 0;
    uint64_t inode = 0;
    uint32_t links = 0;  // names of the same inode
    uint32_t user = 0;
    uint32_t mode = 0;  // permissions only
    bool operator==(const Entry&) const = default;
};

// "a/b" of "a" and "b"; "b" alone of "" and "b".
std::string path_beneath(std::string_view directory, std::string_view name);

// Some of the entries of a directory, which comes in one listing or more.
struct Listing {
    std::string_view path;  // of the directory beneath the root, "" for that
    size_t depth = 0;       // 0 for the root
    std::span<const Entry> entries;
    std::optional<uint64_t> directory_entries;  // all of the directory's names; in one of its listings
    std::string path_of(std::string_view name) const { return path_beneath(path, name); }
};

// A part that could not be read. The rest is read all the same.
struct WalkProblem {
    std::string path;
    int errno_value = 0;
    bool operator==(const WalkProblem&) const = default;
};

// The most that a report lists.
inline constexpr size_t kListedProblems = 20;

// A directory whose path beneath the root is longer is named as a problem (ENAMETOOLONG), and not entered: some hundred directories
// with long names would make gigabytes of paths.
inline constexpr size_t kMostPathBytes = size_t{16} << 10;

struct WalkOptions {
    size_t threads = 1;
    double most_calls_per_second = 0;  // to the file system, of all threads together; 0: no limit
    // What is mounted again from the same file system (mount --bind) is not entered either, and its files are
    // not visited, as far as the kernel says so (since Linux 5.8).
    bool stays_on_mount = false;
    const std::atomic<bool>* stop = nullptr;
    // How many names were looked at so far: ten times a second at most, from any thread, never two at once.
    std::function<void(uint64_t looked)> progress = {};
};

struct WalkReport {
    uint64_t directories = 0;                // that were read, the root among them
    uint64_t calls = 0;                      // to the file system: opens, lists, looks at a name
    uint64_t looks = 0;                      // of those, looks at a name (statx)
    double look_seconds = 0;                 // in these, of all threads together
    uint64_t other_file_systems = 0;         // where something is mounted: not entered
    uint64_t problem_count = 0;              // what vanished meanwhile is none
    std::vector<WalkProblem> problems = {};  // those with the first paths
    double seconds = 0;
};

// Calls `visit` from threads 0 to `threads` - 1. A directory's own entry stands in its parent's listing.
// Errors: kSystem where the root cannot be read, kCancelled once `stop` is set.
using Visitor = std::function<void(size_t thread, const Listing& listing)>;
core::Result<WalkReport> walk(const core::Directory& root, const WalkOptions& options, const Visitor& visit);

}  // namespace belay::stage
