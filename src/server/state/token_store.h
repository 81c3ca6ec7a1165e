// Tokens that belayd has made: for programs, for nodes and for the command line. Of a secret only the digest is kept, so its
// text is given once, when it is made.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/access/policy.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// What those who hold it may be at most.
enum class TokenRole : uint8_t {
    kUser,     // themselves, and a member of their projects
    kManager,  // likewise, and a manager of those that they manage
    kStaff,    // all jobs, audited
    kNode,     // a node that uploads, or all of them; it sees nothing
};
std::string_view role_name(TokenRole role);
std::optional<TokenRole> role_named(std::string_view word);

// Instead of a node's name.
inline constexpr std::string_view kAllNodes = "*";

struct TokenFacts {
    TokenRole role = TokenRole::kUser;
    std::string user;  // of kNode the node's name, or kAllNodes
    // Only this one. Where those who run the server made the token, its user belongs to it.
    std::string project = {};
    Scope scope = {};
    std::string label = {};    // what it is for, in the user's words
    std::string made_by = {};  // empty: by those who run the server, at its command line
    std::string parent = {};   // id of the token with which it was made; it ends with that one
};

struct StoredToken {
    std::string id;
    std::string digest;  // of the secret
    TokenFacts facts;
    core::Time created;
    std::optional<core::Time> revoked, last_used;

    // Whether it counts: neither revoked nor expired.
    bool is_live(core::Time now) const;
};

struct MadeToken {
    std::string id;
    std::string text;  // the secret is in it: shown once
};

// Live ones that one user may have.
inline constexpr size_t kMostTokensOfUser = 1000;

// Errors: kBadInput for names and labels that cannot be, a project of a node or of staff, and an expiry that has passed or lies
// behind the parent's; kNegative where the user has too many, and because of kDenied where the parent has ended; those of
// Database::transact.
core::Result<MadeToken> create_token(database::Transaction& transaction, const TokenFacts& facts,
                                     core::Time now);
core::Result<MadeToken> create_token(database::Database& database, const TokenFacts& facts, core::Time now,
                                     const core::Deadline& deadline);

// Also one that does not count now; nothing where there is none. Errors of these: those of Database::transact.
core::Result<std::optional<StoredToken>> find_token(database::Transaction& transaction, std::string_view id);
core::Result<std::optional<StoredToken>> find_token(database::Database& database, std::string_view id,
                                                    const core::Deadline& deadline);
// Newest first, also those that do not count now; at most kLargestPage. Those of nodes are no user's.
core::Result<std::vector<StoredToken>> list_tokens(database::Transaction& transaction, std::string_view user);
core::Result<std::vector<StoredToken>> list_tokens(database::Database& database, std::string_view user,
                                                   const core::Deadline& deadline);

// Ends it, and those that were made with it; the ids of all that ended now.
core::Result<std::vector<std::string>> revoke_token(database::Transaction& transaction, std::string_view id,
                                                    core::Time now);
core::Result<std::vector<std::string>> revoke_token(database::Database& database, std::string_view id,
                                                    core::Time now, const core::Deadline& deadline);

// How exactly it is known when a token was used last.
inline constexpr core::Duration kTokenUseStep = std::chrono::minutes(1);
// Notes that it was used, unless that was noted within kTokenUseStep. Whether it was written.
core::Result<bool> note_token_use(database::Database& database, std::string_view id, core::Time now,
                                  const core::Deadline& deadline);

}  // namespace belay::server
