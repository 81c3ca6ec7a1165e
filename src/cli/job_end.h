// How Slurm ended the job of a record, asked when somebody looks at it.
#pragma once

#include "core/command.h"
#include "record/archive/archive.h"

#include <filesystem>

namespace belay::cli {

// The longest wait for slurmctld, and then for the accounting.
inline constexpr core::Duration kAskSlurm = std::chrono::seconds(5);

struct LearnedEnd {
    std::optional<stream::Batch> rows = {};  // to add to a record that is not sealed
    std::optional<core::Error> doubt = {};   // what was told, and why it was not kept, or is not all
};

// Asks Slurm how it ended the job, where the record is this user's own, of a job of Slurm, and does not say
// it yet. A sealed record keeps the answer as an annex, unless the accounting may tell more another time; of
// one that is not sealed it is returned. Nothing where there is no Slurm here, or the job is not over.
// Errors: kSystem where neither slurmctld nor the accounting knows the job (any more) or answers within
// kAskSlurm; those of reading the manifest.
core::Result<LearnedEnd> learn_job_end(const std::filesystem::path& record);

// open_for_queries() with what learn_job_end() finds out; that it could not is said on stderr.
core::Result<record::Archive> open_with_job_end(const core::CommandContext& context,
                                                const std::filesystem::path& record);

}  // namespace belay::cli
