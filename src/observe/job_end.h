// How Slurm ended a job, which only slurmctld and the accounting know, and only after a step of it was
// recorded and sealed: the time limit, a cancellation, memory, a node that failed. It joins the record as an
// annex of its owner "slurm": a row of `event` of kind job_end.
#pragma once

#include "record/manifest.h"
#include "slurm/job_end.h"
#include "stream/event.h"

#include <string_view>

namespace belay::observe {

inline constexpr std::string_view kJobEndOwner = "slurm";

// Whether Slurm speaks of the run of the job that was recorded: ids are given anew, also by another cluster,
// and a job that is requeued runs again.
bool is_same_run(const slurm::JobEnd& job, const record::JobFacts& recorded);

struct KnownEnd {
    slurm::JobEnd job;
    // Why the accounting, which may know more of such an end, did not tell: another time it may.
    std::optional<core::Error> unaccounted = {};
};

// Asks slurmctld, and the accounting where slurmctld does not know the job any more, or does not tell what
// the accounting may know; each for at most `timeout`. Nothing where the run is not over, or there is no
// Slurm on this machine. Errors: kSystem where neither could tell, with both reasons.
core::Result<std::optional<KnownEnd>> ask_job_end(const record::JobFacts& recorded, core::Duration timeout);

// Of a job that is over; its subject is the state of the job, or OUT_OF_MEMORY where the job failed and a
// step of it met that limit.
stream::Event job_end_event(const slurm::JobEnd& job);

}  // namespace belay::observe
