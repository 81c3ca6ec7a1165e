// Copies that go when their job ends: noted where they are made, removed by what Slurm runs at the end of the
// job.
//
// A note is a file in memory, which a node that starts again does not have: what lies on its disk then stays,
// and the next copy of the same data finds it there.
#pragma once

#include "core/error.h"
#include "stage/copy/clean.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

class CopyStore;

// A job on a node, as Slurm calls it there.
struct JobOnNode {
    uint64_t job = 0;
    std::string node;
};

// Notes the copy that a store holds, once for each job. What lay there before the job is not the job's,
// unless another job has noted it, too. Errors: kBadInput for a node's name that is not one; kSystem.
core::Result<> note_for_job(const JobOnNode& where, const CopyStore& store,
                            const std::filesystem::path& notes = "/dev/shm");

struct JobCleaning {
    std::vector<std::filesystem::path> cleaned;
    std::vector<core::Error> failed;  // their notes stay, marked as those of a job that has ended
};

// Removes what this user noted for the job, and the notes; but nothing that is noted for another job, too:
// the last of them takes it away. What has gone already is no failure. Errors: kSystem where notes cannot be
// looked for.
core::Result<JobCleaning> clean_for_job(const JobOnNode& where,
                                        const std::filesystem::path& notes = "/dev/shm");

}  // namespace belay::stage
