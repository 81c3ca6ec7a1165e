// What of a person goes when they ask for it, or leave. Records go first: who erases them says so for each job by
// set_phase(), and only jobs whose record is erased lose their owner here, so that none is left that belongs to nobody.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <cstdint>
#include <string_view>

namespace belay::server {

struct ErasedUser {
    int64_t jobs = 0;       // without owner and name now; what they used stays, for totals
    int64_t jobs_left = 0;  // whose records are not erased: again when they are
    int64_t tokens = 0, sessions = 0, links = 0, memberships = 0;
    int64_t audit_entries = 0;  // in which the name was replaced
};

// Tokens, sessions, links and memberships are deleted (memberships come back with Slurm's accounts while it has them). In the
// audit log the name goes, but where this person saw what is somebody else's: that is the other's to know, until the log
// itself goes. Errors: kBadInput for a name that cannot be; those of Database::transact.
core::Result<ErasedUser> erase_user(database::Transaction& transaction, std::string_view user,
                                    core::Time now);
core::Result<ErasedUser> erase_user(database::Database& database, std::string_view user, core::Time now,
                                    const core::Deadline& deadline);

}  // namespace belay::server
