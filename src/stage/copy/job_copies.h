// Copies that go when their job ends: noted where they are made, removed by what Slurm runs at the end of the job.
#pragma once

#include "core/error.h"
#include "stage/copy/clean.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// A job on a node, as Slurm calls it there.
struct JobOnNode {
    uint64_t job = 0;
    std::string node;
};

// Errors: kBadInput for a node's name that is not one; kSystem.
core::Result<> note_for_job(const JobOnNode& where, const std::filesystem::path& destination,
                            const std::filesystem::path& notes = "/dev/shm");

struct JobCleaning {
    std::vector<std::filesystem::path> cleaned;
    std::vector<core::Error> failed;
};

// Removes what this user noted, and the notes. What has gone already is no failure. Errors: kSystem where notes cannot be looked for.
core::Result<JobCleaning> clean_for_job(const JobOnNode& where, const std::filesystem::path& notes = "/dev/shm");

}  // namespace belay::stage
