// All that the state knows of a person, for them: a JSON text in which nobody else has a name.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <string>
#include <string_view>
#include <utility>

namespace belay::server {

// Names of others, told apart within one export and by nobody afterwards: an HMAC by a key that is thrown away.
class Pseudonyms {
  public:
    // `own` stays as it is, and so do names that are no user's ("(operator)").
    Pseudonyms(std::string key, std::string_view own) : key_(std::move(key)), own_(own) {}
    std::string of(std::string_view name) const;

  private:
    std::string key_, own_;
};

// {"user","made","jobs":[…],"links":[…],"tokens":[…],"sessions":[…],"memberships":[…],"audit":[…]}: their own jobs, what they
// have made, and what is in the audit log about them or by them. No secrets, and of others no addresses. As of one moment.
// Errors: kBadInput for a name that cannot be; those of Database::transact.
core::Result<std::string> export_user(database::Database& database, std::string_view user, core::Time now,
                                      const core::Deadline& deadline);

}  // namespace belay::server
