// Lists of jobs for people and programs: who may see them is part of the query, so that a page is full and says nothing about
// others.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/access/policy.h"
#include "server/state/job.h"
#include "server/state/page.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace belay::server {

// Of accounts that a filter names.
inline constexpr size_t kMostFilterAccounts = 8192;

// Each narrows the list.
struct JobConditions {
    std::optional<std::string> user = {}, account = {};
    std::optional<std::string> state = {};  // Slurm's word
    std::optional<std::string> node = {};   // one of the job's
    std::optional<core::Time> since = {};   // submitted from then on,
    std::optional<core::Time> until = {};   // and before
    std::optional<std::string> text = {};   // part of its name
};

struct JobPage {
    std::vector<Job> jobs;  // newest first
    std::string next;       // cursor of the next page; empty at the end
};

// `filter` is that of filter_for(), with its accounts made into all that lie below them (AccountTree::expanded()). Each job
// that it gives is decided upon all the same. Errors: kBadInput for a page, a cursor or a filter that cannot be; those of
// Database::transact.
core::Result<JobPage> list_jobs(database::Database& database, const JobFilter& filter,
                                const JobConditions& conditions, const Page& page,
                                const core::Deadline& deadline);

}  // namespace belay::server
