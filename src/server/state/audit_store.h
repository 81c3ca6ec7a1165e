// Who did and saw what that is not theirs. It only grows; what is older than a site keeps it goes as a whole (clean_up.h).
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/state/page.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Who stands there for those who run the server, at its command line, and for people whose data were erased. Neither can be the
// name of a user (names.h).
inline constexpr std::string_view kOperator = "(operator)", kErasedPerson = "(erased)";

struct AuditEntry {
    int64_t number = 0;  // as stored; higher ones are later
    std::string who;
    std::string what;        // a word and what it is about: "job.see", "token.create 0123456789abcdef"
    std::string job = {};    // its key
    std::string owner = {};  // whose it is
    core::Time time;
    std::string peer = {};  // from which address
};

// In the transaction of what it is about, so that one is there exactly where the other is. `number` is not read. Errors:
// kBadInput for text that is too long or unreadable; those of Database::transact.
core::Result<> append_audit(database::Transaction& transaction, const AuditEntry& entry);
// For what changes nothing in the database: a look.
core::Result<> append_audit(database::Database& database, const AuditEntry& entry,
                            const core::Deadline& deadline);

struct AuditConditions {
    std::optional<std::string> who = {}, owner = {}, job = {};
};
struct AuditPage {
    std::vector<AuditEntry> entries;  // newest first
    std::string next;                 // cursor of the next page; empty at the end
};
// Errors: kBadInput for a page or a cursor that cannot be; those of Database::transact.
core::Result<AuditPage> list_audit(database::Database& database, const AuditConditions& conditions,
                                   const Page& page, const core::Deadline& deadline);

}  // namespace belay::server
