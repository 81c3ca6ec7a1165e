// Slurm's own commands, asked about jobs.
#pragma once

#include "core/process.h"

#include <string>
#include <vector>

namespace belay::slurm {

// Runs the command to its end, with messages in English and times in UTC. Errors: kSystem if it cannot be run
// or has not ended after `timeout`; the cause is kNotFound where it is not installed.
core::Result<core::Output> run_slurm_command(std::vector<std::string> argv, core::Duration timeout);

// Of one that failed: kSystem with its exit status and last words; the cause is kNotFound where this machine
// has no configuration of Slurm, or the cluster keeps no accounts.
core::Failure failed_command(const std::string& what, const core::Output& output);

}  // namespace belay::slurm
