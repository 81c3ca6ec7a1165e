// Browsers that are logged in, each by a cookie of which only a digest is kept.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/access/policy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

struct SessionFacts {
    std::string user;  // of a link the one who made it
    bool is_staff = false;
    Proof proof = Proof::kOidc;      // kOidc or kLink
    std::optional<std::string> job;  // of a link: it shows this one and nothing else
    core::Time expires;
};
struct StoredSession {
    std::string id;
    std::string digest;  // of the secret in the cookie
    SessionFacts facts;
};
struct MadeSession {
    std::string id;
    std::string text;  // for the cookie
};

// Errors of all: those of Database::transact. Of this one also kBadInput for a user's name that cannot be, an expiry that has
// passed, and a link without a job.
core::Result<MadeSession> create_session(database::Transaction& transaction, const SessionFacts& facts,
                                         core::Time now);
core::Result<MadeSession> create_session(database::Database& database, const SessionFacts& facts,
                                         core::Time now, const core::Deadline& deadline);

// Also one that has expired; nothing where there is none.
core::Result<std::optional<StoredSession>> find_session(database::Transaction& transaction,
                                                        std::string_view id);
core::Result<std::optional<StoredSession>> find_session(database::Database& database, std::string_view id,
                                                        const core::Deadline& deadline);

// Whether there was one.
core::Result<bool> end_session(database::Database& database, std::string_view id,
                               const core::Deadline& deadline);
// How many there were: all of a user; all that links to a job have begun.
core::Result<int64_t> end_sessions_of(database::Database& database, std::string_view user,
                                      const core::Deadline& deadline);
core::Result<int64_t> end_sessions_of_job(database::Database& database, std::string_view job,
                                          const core::Deadline& deadline);

}  // namespace belay::server
