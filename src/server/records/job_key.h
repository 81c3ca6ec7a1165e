// The name by which belayd knows a job for good: "alps-4711-0-1764412345", cluster, number, restarts, and the second of its
// submission, or, where Slurm did not say that when the name was made, of its beginning. Slurm uses numbers again; a key is made
// once and never again. Keys are names of directories.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::server {

struct JobKey {
    std::string cluster;  // as cluster_in_key() makes it
    int64_t id = 0;
    int64_t restart = 0;
    int64_t seconds = 0;  // since 1970
    uint64_t number = 1;  // of several that have all of that in common; from 2 on it stands at the end: ".2"
    bool operator==(const JobKey&) const = default;
};

inline constexpr size_t kLongestCluster = 64;  // in a key

// Letters, digits, "-", "_" and ".", the first no ".": other bytes become "_", an empty name "unnamed".
std::string cluster_in_key(std::string_view cluster);
// The key of a job, of which no number is negative.
std::string to_text(const JobKey& key);
// Errors: kBadInput for anything that to_text() would not write.
core::Result<JobKey> parse_job_key(std::string_view text);
// "2025-11", in UTC: the directory of the cluster in which its record is.
std::string month_of(const JobKey& key);

}  // namespace belay::server
