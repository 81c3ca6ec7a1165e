// What the closed division wants to be said about a run (mlcommons/logging, compliance_checker, closed_*.yaml).
#pragma once

#include "bench/train/mllog_output.h"
#include "bench/train/model.h"

namespace belay::bench {

// The keys of the optimizer and of the learning rate, in the profile's LogStyle: an object.
progress::Json optimizer_settings(const Profile& profile);

// All of them. `nodes` have `ranks` ranks.
void log_settings(const Model& model, const Profile& profile, uint64_t seed, int ranks, int nodes,
                  MllogOutput& log);

}  // namespace belay::bench
