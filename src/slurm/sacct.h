// What Slurm's accounting knows of a job after slurmctld has forgotten it, asked through `sacct`.
#pragma once

#include "slurm/job_end.h"

namespace belay::slurm {

// The fields that sacct is asked for, with commas between them.
std::string sacct_fields();

// The runs of jobs in the output of `sacct --parsable2 --noheader --noconvert` with these fields, run with
// TZ=UTC: a job that was requeued has several. The memory of its steps counts for the run above them. Errors:
// kSystem, naming the line or field that was not understood.
core::Result<std::vector<JobEnd>> parse_sacct(std::string_view text);

// Asks for all runs of one job; none where the accounting does not know it. Errors: kSystem if sacct fails,
// as it does where a cluster keeps no accounts, or has not answered after `timeout`; its cause is kNotFound
// where this machine has no sacct or no configuration of Slurm, or the cluster keeps no accounts.
core::Result<std::vector<JobEnd>> query_accounted_runs(uint64_t job_id, core::Duration timeout);

}  // namespace belay::slurm
