#include "server/state/token_store.h"

#include "core/hash.h"
#include "server/access/token.h"
#include "server/state/names.h"
#include "server/state/page.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;

namespace {

constexpr std::array kRoleWords = {
    Word<TokenRole>{TokenRole::kUser, "user"},
    Word<TokenRole>{TokenRole::kManager, "manager"},
    Word<TokenRole>{TokenRole::kStaff, "staff"},
    Word<TokenRole>{TokenRole::kNode, "node"},
};

constexpr std::string_view kTokenColumns =
    "id, digest, role, user_name, project, may_change, job_key, label, made_by, parent, created, expires,"
    " revoked, last_used";
constexpr size_t kLongestLabel = 200;

Result<StoredToken> token_of(const database::Row& row) {
    BELAY_TRY(role, word_at(kRoleWords, row, 2));
    return StoredToken{.id = text_at(row, 0),
                       .digest = row.bytes(1).value_or(""),
                       .facts = {.role = role,
                                 .user = text_at(row, 3),
                                 .project = text_at(row, 4),
                                 .scope = {.may_change = row.truth(5),
                                           .job = row.text(6),
                                           .expires = optional_time_at(row, 11)},
                                 .label = text_at(row, 7),
                                 .made_by = text_at(row, 8),
                                 .parent = text_at(row, 9)},
                       .created = time_at(row, 10),
                       .revoked = optional_time_at(row, 12),
                       .last_used = optional_time_at(row, 13)};
}

Result<> check_facts(const TokenFacts& facts, core::Time now) {
    const bool is_node = facts.role == TokenRole::kNode;
    if (!is_node || facts.user != kAllNodes)
        BELAY_CHECK(check_plain_name(facts.user, is_node ? "name of the node" : "name of the user"));
    BELAY_CHECK(check_readable(facts.label, "label", kLongestLabel));
    if (!facts.project.empty()) {
        BELAY_CHECK(check_plain_name(facts.project, "name of the project"));
        if (is_node || facts.role == TokenRole::kStaff)
            return core::bad_input("a token with the role {} has no project", role_name(facts.role));
    }
    if (facts.scope.expires && *facts.scope.expires <= now)
        return core::bad_input("a token must expire later than now");
    return {};
}

Result<> check_count(Transaction& transaction, const std::string& user, core::Time now) {
    BELAY_TRY(row, transaction.query_row("SELECT count(*) FROM token WHERE user_name = ? AND revoked IS NULL"
                                         " AND (expires IS NULL OR expires > ?)",
                                         {user, time_value(now)}));
    if (row && row->integer(0).value_or(0) >= static_cast<int64_t>(kMostTokensOfUser))
        return core::negative("{} has {} tokens already", user, kMostTokensOfUser)
            .hint("revoke those that are not needed");
    return {};
}

// In the transaction that makes the new one: who revokes the parent at the same time finds it, or it does not come to be.
Result<> check_parent(Transaction& transaction, const TokenFacts& facts, core::Time now) {
    if (facts.parent.empty()) return {};
    BELAY_TRY(parent, find_token(transaction, facts.parent));
    if (!parent || !parent->is_live(now))
        return core::negative("the token with which it is made does not count now")
            .because(core::Cause::kDenied);
    const auto& end = parent->facts.scope.expires;
    if (end && (!facts.scope.expires || *facts.scope.expires > *end))
        return core::bad_input("a token expires no later than the one with which it is made");
    return {};
}

}  // namespace

std::string_view role_name(TokenRole role) {
    return word_of(kRoleWords, role);
}
std::optional<TokenRole> role_named(std::string_view word) {
    return value_of_word(kRoleWords, word);
}

bool StoredToken::is_live(core::Time now) const {
    return !revoked && (!facts.scope.expires || now < *facts.scope.expires);
}

Result<MadeToken> create_token(Transaction& transaction, const TokenFacts& facts, core::Time now) {
    BELAY_CHECK(check_facts(facts, now));
    BELAY_CHECK(check_parent(transaction, facts, now));
    BELAY_CHECK(check_count(transaction, facts.user, now));
    BELAY_TRY(token, make_token());
    const core::Sha256Digest digest = token.digest();
    BELAY_CHECK(transaction.execute(
        "INSERT INTO token (id, digest, role, user_name, project, may_change, job_key, label, made_by, "
        "parent,"
        " created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {token.id, database::Bytes(std::string(core::bytes_of(digest))), std::string(role_name(facts.role)),
         facts.user, text_value(facts.project), truth_value(facts.scope.may_change),
         database::or_null(facts.scope.job), text_value(facts.label), text_value(facts.made_by),
         text_value(facts.parent), time_value(now), time_value(facts.scope.expires)}));
    return MadeToken{.id = token.id, .text = token.text()};
}
Result<MadeToken> create_token(Database& database, const TokenFacts& facts, core::Time now,
                               const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return create_token(transaction, facts, now); });
}

Result<std::optional<StoredToken>> find_token(Transaction& transaction, std::string_view id) {
    BELAY_TRY(row, transaction.query_row(fmt::format("SELECT {} FROM token WHERE id = ?", kTokenColumns),
                                         {std::string(id)}));
    if (!row) return std::optional<StoredToken>();
    BELAY_TRY(token, token_of(*row));
    return std::optional(std::move(token));
}
Result<std::optional<StoredToken>> find_token(Database& database, std::string_view id,
                                              const Deadline& deadline) {
    return in_read(database, deadline, [&](Transaction& transaction) { return find_token(transaction, id); });
}

Result<std::vector<StoredToken>> list_tokens(Transaction& transaction, std::string_view user) {
    BELAY_TRY(rows,
              transaction.query_all(fmt::format("SELECT {} FROM token WHERE user_name = ? AND role <> 'node'"
                                                " ORDER BY created DESC, id LIMIT {}",
                                                kTokenColumns, kLargestPage),
                                    {std::string(user)}));
    std::vector<StoredToken> tokens;
    for (const database::Row& row : rows) {
        BELAY_TRY(token, token_of(row));
        tokens.push_back(std::move(token));
    }
    return tokens;
}
Result<std::vector<StoredToken>> list_tokens(Database& database, std::string_view user,
                                             const Deadline& deadline) {
    return in_read(database, deadline,
                   [&](Transaction& transaction) { return list_tokens(transaction, user); });
}

Result<std::vector<std::string>> revoke_token(Transaction& transaction, std::string_view id, core::Time now) {
    BELAY_TRY(rows,
              transaction.query_all(
                  "UPDATE token SET revoked = ? WHERE revoked IS NULL AND id IN ("
                  "WITH RECURSIVE below (id) AS (SELECT id FROM token WHERE id = ? UNION"
                  " SELECT token.id FROM token JOIN below ON token.parent = below.id) SELECT id FROM below)"
                  " RETURNING id",
                  {time_value(now), std::string(id)}));
    std::vector<std::string> ended;
    for (const database::Row& row : rows) ended.push_back(text_at(row, 0));
    return ended;
}
Result<std::vector<std::string>> revoke_token(Database& database, std::string_view id, core::Time now,
                                              const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return revoke_token(transaction, id, now); });
}

Result<bool> note_token_use(Database& database, std::string_view id, core::Time now,
                            const Deadline& deadline) {
    BELAY_TRY(changed, database.execute(deadline,
                                        "UPDATE token SET last_used = ? WHERE id = ?"
                                        " AND (last_used IS NULL OR last_used <= ?)",
                                        {time_value(now), std::string(id), time_value(now - kTokenUseStep)}));
    return changed == 1;
}

}  // namespace belay::server
