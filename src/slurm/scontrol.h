// What only slurmctld knows about jobs and nodes, asked through `scontrol show`, whose text is the same in
// every version (its JSON is not: 22.05 has none).
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "slurm/job_end.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::slurm {

struct ScontrolJob : JobEnd {
    std::optional<uint64_t> array_job_id = {};
    std::optional<uint64_t> array_task = {};  // missing for the pending rest of an array
    std::string name = {};
    std::string user = {};
    std::optional<std::string> account = {};
    std::optional<std::string> partition = {};
    std::optional<std::string> reason = {};
};

// The records in the output of `scontrol show job`, run with TZ=UTC; an array's id shows several. Line breaks
// in a job's name or comment are the user's: a record in which a fact stands twice is refused rather than
// believed. Errors: kSystem, naming the line or key that was not understood.
core::Result<std::vector<ScontrolJob>> parse_scontrol_jobs(std::string_view text);

// Asks for one job (of an array's task: its own id). Errors: kBadInput if Slurm does not know the id (it
// forgets a job MinJobAge, 5 minutes, after its end); kSystem if scontrol fails, or has not answered after
// `timeout`; its cause is kNotFound where there is no Slurm on this machine, or no configuration of it.
core::Result<ScontrolJob> query_job(uint64_t job_id, core::Duration timeout = std::chrono::seconds(10));

// NodeAddr in the output of `scontrol show node`, a name or numeric; nothing if it does not say. Errors:
// kSystem if it stands there twice.
core::Result<std::optional<std::string>> parse_scontrol_node_address(std::string_view text);

// Asks for one node; nothing if Slurm does not know it. Errors: kSystem if scontrol cannot be run, fails (no
// slurmctld answers it), or has not answered at the deadline.
core::Result<std::optional<std::string>> query_node_address(const std::string& node,
                                                            const core::Deadline& deadline);

}  // namespace belay::slurm
