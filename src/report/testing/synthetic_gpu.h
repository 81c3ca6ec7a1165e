// Made-up GPUs: what the score module would say of jobs that do not exist, always the same.
#pragma once

#include "report/measurements.h"
#include "score/digest.h"

namespace belay::report {

// Training on `per_node` GPUs of every node of `data` for its time: start-up, steps, checkpoints that stall
// all, and, where there are enough GPUs, one that is held down by heat, one that idles, one that is lost.
score::Digest synthetic_digest(const Measurements& data, size_t per_node);

// Two findings that fit it, the first critical.
// Of a run that began at `start`.
findings::Report synthetic_findings(const Measurements& data, core::Time start);

// The whole model: `nodes` nodes for `seconds`, with GPUs and findings.
ReportModel synthetic_gpu_job(size_t nodes, size_t per_node, double seconds);

}  // namespace belay::report
