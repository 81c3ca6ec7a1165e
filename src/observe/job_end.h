// How Slurm ended a job, which only slurmctld knows, and only after a step of it was recorded and sealed: the
// time limit, a cancellation, memory, a node that failed. It joins the record as an annex of its owner
// "slurm": a row of `event` of kind job_end.
#pragma once

#include "record/manifest.h"
#include "slurm/scontrol.h"
#include "stream/event.h"

#include <string_view>

namespace belay::observe {

inline constexpr std::string_view kJobEndOwner = "slurm";

// Whether slurmctld speaks of the run of the job that was recorded: ids are given anew, also by another
// cluster, and a job that is requeued runs again.
bool is_same_run(const slurm::ScontrolJob& job, const record::JobFacts& recorded);

// Of a job that is over.
stream::Event job_end_event(const slurm::ScontrolJob& job);

}  // namespace belay::observe
