// What `belayd --data DIR token create --user U --role R [--project P]` does, but for the program around it.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belay::server {

// As a person writes it.
struct TokenCommand {
    std::string user;                  // --user; of a node its name, or * for all nodes
    std::string role = "user";         // --role: user, manager, staff or node
    std::string project = {};          // --project
    std::string label = {};            // --label
    std::optional<int64_t> days = {};  // --days until it expires; without it, it does not
    bool is_read_only = false;         // --read-only
};

// The token's text, to be printed once. Those who may run this may read the database: who they are is not asked, and it is
// noted in the audit log. Errors: kBadInput; those of create_token().
core::Result<std::string> create_token_command(database::Database& database, const TokenCommand& command,
                                               core::Time now, const core::Deadline& deadline);

}  // namespace belay::server
