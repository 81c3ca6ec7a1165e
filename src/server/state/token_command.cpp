#include "server/state/token_command.h"

#include "core/utf8.h"
#include "server/state/audit_store.h"
#include "server/state/token_store.h"
#include "server/state/transacted.h"

#include <chrono>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr int64_t kMostDays = 36'500;

Result<TokenFacts> facts_of_command(const TokenCommand& command, core::Time now) {
    const auto role = role_named(command.role);
    if (!role)
        return core::bad_input("\"{}\" is not a role", core::printable(command.role))
            .hint("write user, manager, staff or node");
    TokenFacts facts{.role = *role,
                     .user = command.user,
                     .project = command.project,
                     .scope = {.may_change = !command.is_read_only},
                     .label = command.label};
    if (!command.days) return facts;
    if (*command.days < 1 || *command.days > kMostDays)
        return core::bad_input("a token can be made for 1 to {} days", kMostDays);
    facts.scope.expires = now + std::chrono::days(*command.days);
    return facts;
}

}  // namespace

Result<std::string> create_token_command(database::Database& database, const TokenCommand& command,
                                         core::Time now, const core::Deadline& deadline) {
    BELAY_TRY(facts, facts_of_command(command, now));
    return in_write(database, deadline, [&](database::Transaction& transaction) -> Result<std::string> {
        BELAY_TRY(made, create_token(transaction, facts, now));
        BELAY_CHECK(
            append_audit(transaction, {.who = std::string(kOperator),
                                       .what = fmt::format("token.create {} {}", made.id, command.role),
                                       .owner = facts.user,
                                       .time = now}));
        return made.text;
    });
}

}  // namespace belay::server
