// Links that show one job to somebody without an account: readable once, or until they expire.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct LinkFacts {
    std::string job;        // its key
    std::string made_by;    // who may see the job, decided before: the link shows what they see
    bool is_staff = false;  // they saw it as staff
    bool is_once = true;    // the first one who takes it has it, and nobody else
    core::Time expires;
};
struct StoredLink {
    std::string id;
    LinkFacts facts;
    core::Time created;
    std::optional<core::Time> taken;  // last
};
struct MadeLink {
    std::string id;
    std::string text;  // goes behind /auth/link/; shown once
};

// Errors: kBadInput for an expiry that has passed or is more than a year away; kReference (database/cause.h) where there is
// no such job; those of Database::transact.
core::Result<MadeLink> create_link(database::Transaction& transaction, const LinkFacts& facts,
                                   core::Time now);
core::Result<MadeLink> create_link(database::Database& database, const LinkFacts& facts, core::Time now,
                                   const core::Deadline& deadline);

// What the link shows, and takes it; nothing for one that is not there, has expired, or was taken and could be only once. Of two
// that take such a one at the same time, one gets it.
core::Result<std::optional<StoredLink>> take_link(database::Transaction& transaction, std::string_view text,
                                                  core::Time now);
core::Result<std::optional<StoredLink>> take_link(database::Database& database, std::string_view text,
                                                  core::Time now, const core::Deadline& deadline);

// Those to a job that can still be taken, newest first, at most kLargestPage.
core::Result<std::vector<StoredLink>> list_links(database::Database& database, std::string_view job,
                                                 core::Time now, const core::Deadline& deadline);
// Of that job; false where there is none. Sessions that were begun with it go on until they end: see end_sessions_of_job().
core::Result<bool> remove_link(database::Transaction& transaction, std::string_view job, std::string_view id);
core::Result<bool> remove_link(database::Database& database, std::string_view job, std::string_view id,
                               const core::Deadline& deadline);

}  // namespace belay::server
