// Jobs in the database: each fact is written by who knows it, and found by key or number. Lists for people are in job_list.h.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/state/job.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

inline constexpr size_t kMostNodesOfJob = 100'000;

// Adds the job, or brings what is known of it up to date: what `job` does not know stays as it is, one that is over stays
// over, and of a job that is there phase, sharing, origin and first_seen are left to the functions below. One that was erased
// is not touched. `now` becomes `changed`, and of a new one `first_seen`. Errors: kBadInput for a key that is empty or long,
// and for names of nodes and users that cannot be; those of Database::transact.
core::Result<> put_job(database::Transaction& transaction, const Job& job, core::Time now);
core::Result<> put_job(database::Database& database, const Job& job, core::Time now,
                       const core::Deadline& deadline);

// Nothing where there is none. Errors of these: those of Database::transact.
core::Result<std::optional<Job>> find_job(database::Transaction& transaction, std::string_view key);
core::Result<std::optional<Job>> find_job(database::Database& database, std::string_view key,
                                          const core::Deadline& deadline);
// Those that had the number, also as the number of their array, newest first, at most kLargestPage; of all clusters where
// `cluster` is empty.
core::Result<std::vector<Job>> find_jobs_by_number(database::Database& database, std::string_view cluster,
                                                   int64_t number, const core::Deadline& deadline);
// Those that run or whose record is not cut yet, in the order of their keys, from the one after `after` on.
core::Result<std::vector<Job>> list_open_jobs(database::Database& database, std::string_view after,
                                              size_t most, const core::Deadline& deadline);

// False where the job is unknown or was erased. An erased one stays so. Errors: also kBadInput.
core::Result<bool> set_phase(database::Transaction& transaction, std::string_view key, RecordPhase phase,
                             std::string_view why, core::Time now);
core::Result<bool> set_phase(database::Database& database, std::string_view key, RecordPhase phase,
                             std::string_view why, core::Time now, const core::Deadline& deadline);

struct JobSharing {
    Sharing sharing = Sharing::kOwner;
    bool shares_last_words = false;
};
// False likewise. Who may do so is decided before, by access/policy.h.
core::Result<bool> set_sharing(database::Transaction& transaction, std::string_view key,
                               const JobSharing& sharing, core::Time now);
core::Result<bool> set_sharing(database::Database& database, std::string_view key, const JobSharing& sharing,
                               core::Time now, const core::Deadline& deadline);

}  // namespace belay::server
