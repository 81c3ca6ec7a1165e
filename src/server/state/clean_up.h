// What has expired goes, so that nothing of it is kept longer than needed: to be called now and then by one belayd
// (database/lease.h).
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <chrono>
#include <cstdint>

namespace belay::server {

struct StateRetention {
    core::Duration tokens = std::chrono::days(30);  // that have ended, so that people see what they were
    core::Duration audit = std::chrono::days(366);
};
struct CleanedUp {
    int64_t sessions = 0, login_attempts = 0, links = 0, tokens = 0, audit_entries = 0;
};

// Errors: those of Database::transact.
core::Result<CleanedUp> clean_up(database::Database& database, core::Time now,
                                 const StateRetention& retention, const core::Deadline& deadline);

}  // namespace belay::server
