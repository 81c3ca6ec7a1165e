#include "server/login/caller.h"

#include "core/text.h"
#include "server/state/rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace belay::server {

namespace {

constexpr std::array kAllProofWords = {
    Word<Proof>{Proof::kMunge, "munge"},
    Word<Proof>{Proof::kOidc, "oidc"},
    Word<Proof>{Proof::kToken, "token"},
    Word<Proof>{Proof::kLink, "link"},
};

// Accounts that a token allows.
std::set<std::string> allowed_of(const std::set<std::string>& accounts, const TokenFacts& facts) {
    if (facts.project.empty()) return accounts;
    const bool is_given = facts.made_by.empty();
    return is_given || accounts.contains(facts.project) ? std::set<std::string>{facts.project}
                                                        : std::set<std::string>();
}

// "KEY:VALUE" of the words of an http::Identity, each of which is read by a row.
struct WordRow {
    std::string_view key;
    bool (*read)(Caller& caller, std::string value);
};
constexpr std::array kWordRows = {
    WordRow{"user",
            [](Caller& caller, std::string value) {
                caller.identity.user = std::move(value);
                return true;
            }},
    WordRow{"proof",
            [](Caller& caller, std::string value) {
                const auto proof = value_of_word(kAllProofWords, value);
                caller.identity.proof = proof.value_or(Proof::kLink);
                return proof.has_value();
            }},
    WordRow{"staff",
            [](Caller& caller, std::string value) {
                caller.identity.is_staff = true;
                return value.empty();
            }},
    WordRow{"member",
            [](Caller& caller, std::string value) {
                return caller.identity.member_of.insert(std::move(value)).second;
            }},
    WordRow{"manages",
            [](Caller& caller, std::string value) {
                return caller.identity.manages.insert(std::move(value)).second;
            }},
    WordRow{"read-only",
            [](Caller& caller, std::string value) {
                caller.identity.scope.may_change = false;
                return value.empty();
            }},
    WordRow{"job",
            [](Caller& caller, std::string value) {
                caller.identity.scope.job = std::move(value);
                return true;
            }},
    WordRow{"until",
            [](Caller& caller, std::string value) {
                const auto nanoseconds = core::parse_number<int64_t>(value);
                caller.identity.scope.expires = core::time_from_nanoseconds(nanoseconds.value_or(0));
                return nanoseconds.has_value();
            }},
    WordRow{"node",
            [](Caller& caller, std::string value) {
                caller.node = std::move(value);
                return true;
            }},
    WordRow{"token",
            [](Caller& caller, std::string value) {
                caller.token = std::move(value);
                return true;
            }},
    WordRow{"project",
            [](Caller& caller, std::string value) {
                caller.project = std::move(value);
                return true;
            }},
};

// For the log of requests.
std::string display_name(const Caller& caller) {
    if (!caller.node.empty()) return "node " + caller.node;
    if (caller.identity.proof == Proof::kLink) return "link of " + caller.identity.user;
    return caller.identity.user;
}

}  // namespace

std::string_view proof_name(Proof proof) {
    return word_of(kAllProofWords, proof);
}

http::Refusal not_recognised() {
    return {401, "this needs an identity that is known here", "send a token that belayd made, or log in", {}};
}

Caller caller_of(const StoredToken& token, const Identity& known) {
    const TokenFacts& facts = token.facts;
    Caller caller{.token = token.id, .project = facts.project};
    caller.identity.proof = Proof::kToken;
    caller.identity.scope = facts.scope;
    if (facts.role == TokenRole::kNode) {
        caller.node = facts.user;
        return caller;
    }
    caller.identity.user = facts.user;
    caller.identity.is_staff = facts.role == TokenRole::kStaff && facts.made_by.empty();
    caller.identity.member_of = allowed_of(known.member_of, facts);
    if (facts.role != TokenRole::kUser) caller.identity.manages = allowed_of(known.manages, facts);
    return caller;
}

Caller caller_of(const StoredSession& session, const Identity& known) {
    const SessionFacts& facts = session.facts;
    Caller caller{.identity = known};
    caller.identity.user = facts.user;
    caller.identity.proof = facts.proof;
    caller.identity.is_staff = facts.is_staff;
    caller.identity.scope = {
        .may_change = facts.proof != Proof::kLink, .job = facts.job, .expires = facts.expires};
    return caller;
}

http::Identity to_http(const Caller& caller) {
    const Identity& identity = caller.identity;
    std::vector<std::string> words = {"user:" + identity.user,
                                      "proof:" + std::string(proof_name(identity.proof))};
    if (identity.is_staff) words.emplace_back("staff:");
    for (const std::string& account : identity.member_of) words.push_back("member:" + account);
    for (const std::string& account : identity.manages) words.push_back("manages:" + account);
    if (!identity.scope.may_change) words.emplace_back("read-only:");
    if (identity.scope.job) words.push_back("job:" + *identity.scope.job);
    if (identity.scope.expires)
        words.push_back("until:" + std::to_string(core::to_nanoseconds(*identity.scope.expires)));
    if (!caller.node.empty()) words.push_back("node:" + caller.node);
    if (!caller.token.empty()) words.push_back("token:" + caller.token);
    if (!caller.project.empty()) words.push_back("project:" + caller.project);
    return {.name = display_name(caller), .roles = std::move(words)};
}

std::optional<Caller> from_http(const http::Identity& identity) {
    if (identity.roles.empty()) return std::nullopt;
    Caller caller;
    for (const std::string& word : identity.roles) {
        const size_t colon = word.find(':');
        if (colon == std::string::npos) return std::nullopt;
        const std::string_view key = std::string_view(word).substr(0, colon);
        const auto row = std::ranges::find(kWordRows, key, &WordRow::key);
        if (row == kWordRows.end() || !row->read(caller, word.substr(colon + 1))) return std::nullopt;
    }
    return caller;
}

http::Checked<Caller> caller_in(const http::Request& request) {
    auto caller = request.identity ? from_http(*request.identity) : std::nullopt;
    if (!caller) return std::unexpected(not_recognised());
    return std::move(*caller);
}
http::Checked<Identity> identity_in(const http::Request& request) {
    auto caller = caller_in(request);
    if (!caller) return std::unexpected(std::move(caller.error()));
    return std::move(caller->identity);
}

}  // namespace belay::server
