// Logins that were begun and not come back yet. Each is taken once, by the browser that began it.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/access/login_flow.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

// At a time, so that who begins logins for ever fills no disk.
inline constexpr size_t kMostLoginAttempts = 20'000;

struct StoredAttempt {
    LoginAttempt attempt;
    std::string issuer;      // of the provider to which the browser was sent
    std::string browser;     // secret of the browser's cookie
    std::string next = "/";  // where it wants to go then
};

// Of state and cookie only digests are kept; those that have expired go when there are too many. Errors: kNegative, kNoSpace,
// where there are too many all the same; those of Database::transact.
core::Result<> put_attempt(database::Database& database, const StoredAttempt& attempt, core::Time now,
                           const core::Deadline& deadline);
// And removes it. Nothing for another state than one that was put, one that was taken, one that has expired, and another
// browser's, which then stays.
core::Result<std::optional<StoredAttempt>> take_attempt(database::Database& database, std::string_view state,
                                                        std::string_view browser, core::Time now,
                                                        const core::Deadline& deadline);

}  // namespace belay::server
