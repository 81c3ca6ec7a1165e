// A closer look at a sample of files: what it costs to open and to read them here, how well they compress,
// which are equal.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/scan/sums.h"
#include "stage/walk/walk.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

namespace belay::stage {

struct Speed {
    uint64_t opened = 0;
    double open_seconds = 0;  // to open and close one, in one thread: the mean; NaN where none was opened
    uint64_t read_bytes = 0;
    double read_bytes_per_second = 0;        // of all workers together; NaN where nothing was read
    uint64_t problem_count = 0;              // files that could not be opened, though they are there
    std::vector<WalkProblem> problems = {};  // some of them
};

// Opens each file, and reads it to its end or up to 64 MiB, from `workers` threads, until 256 MiB are read.
// The kernel is asked to drop what it holds of a file's content before (posix_fadvise(2)); of names and
// inodes it cannot be asked without root. Files that have gone are passed over. Once `stop` is set, this and
// the functions below look at no more.
core::Result<Speed> measure_reading(const core::Directory& root, const std::set<Candidate>& files,
                                    size_t workers, const std::atomic<bool>* stop = nullptr);

// Of the bytes of these files, what is left of them in blocks of 128 KiB that zstd compressed at level 3, as
// a data image has them; each file counts by its size, by its first MiB. NaN where none could be read.
double compressed_share(const core::Directory& root, const std::set<Candidate>& files, size_t workers,
                        const std::atomic<bool>* stop = nullptr);

struct Duplicates {
    uint64_t compared_files = 0;
    uint64_t files = 0;  // that equal one before them
    uint64_t bytes = 0;  // of these
    bool operator==(const Duplicates&) const = default;
};
// Among all files of the sizes that the sample holds. Sizes beyond 1 GiB of content, or 2 seconds, are left
// out: a file server that others use is not kept busy for a guess.
Duplicates count_duplicates(const core::Directory& root, const SizeSample& sample, size_t workers,
                            const std::atomic<bool>* stop = nullptr);

// Where data would be copied to.
struct LocalSpeed {
    double read_bytes_per_second = 0;
    uint64_t free_bytes = 0;  // for this user
};
// Writes 128 MiB into a file without a name and reads them back from the device. Errors: kBadInput where
// `directory` is not one; kSystem.
core::Result<LocalSpeed> measure_local(const std::filesystem::path& directory);

}  // namespace belay::stage
