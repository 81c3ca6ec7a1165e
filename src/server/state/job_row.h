// A job as a row of the table `job`. For the files of this folder.
#pragma once

#include "core/error.h"
#include "database/value.h"
#include "server/state/job.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// In the order in which job_of() expects them.
inline constexpr std::string_view kJobColumns =
    "job_key, cluster, job_id, array_job, array_task, restart, submit_time, start_time, end_time, user_name,"
    " account, job_name, partition_name, slurm_state, nodes, is_over, phase, phase_why, sharing,"
    " shares_last_words, origin, first_seen, changed";

// Errors: kSystem for words of a newer version.
core::Result<Job> job_of(const database::Row& row);
core::Result<std::vector<Job>> jobs_of(const std::vector<database::Row>& rows);

// "n1,n2": names of nodes hold no commas.
std::string joined_nodes(const std::vector<std::string>& nodes);

}  // namespace belay::server
