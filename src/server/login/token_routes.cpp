#include "server/login/token_routes.h"

#include "core/deadline.h"
#include "core/log.h"
#include "http/blocking.h"
#include "server/login/caller.h"
#include "server/state/audit_store.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::server {

using core::Result;
using database::Transaction;
using http::refuse;
using http::Request;
using http::Response;
using nlohmann::ordered_json;

namespace {

constexpr uint64_t kLongestTokenBody = 4096;
constexpr core::Duration kTokenWait = std::chrono::seconds(5);

core::Deadline token_deadline() {
    return core::Deadline::after(kTokenWait);
}

ordered_json text_json(const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}
ordered_json time_json(const std::optional<core::Time>& time) {
    return time ? ordered_json(core::format_time(*time)) : ordered_json(nullptr);
}
ordered_json scope_json(const Scope& scope) {
    return {{"read_only", !scope.may_change},
            {"job", text_json(scope.job.value_or(""))},
            {"expires", time_json(scope.expires)}};
}

ordered_json facts_json(const std::string& id, const TokenFacts& facts) {
    ordered_json json = {{"id", id},
                         {"role", role_name(facts.role)},
                         {"user", facts.user},
                         {"project", text_json(facts.project)},
                         {"label", text_json(facts.label)}};
    json.update(scope_json(facts.scope));
    return json;
}
ordered_json stored_json(const StoredToken& token) {
    ordered_json json = facts_json(token.id, token.facts);
    json["created"] = core::format_time(token.created);
    json["revoked"] = time_json(token.revoked);
    json["last_used"] = time_json(token.last_used);
    return json;
}

Response json_response(const ordered_json& json, int status = 200) {
    return Response::json(json.dump() + "\n", status);
}

// An answer for the client, and what happened for the log.
Response failed_response(const core::Error& error) {
    if (error.kind() == core::ErrorKind::kBadInput) return refuse(400, error.message(), error.hint_text());
    if (error.kind() == core::ErrorKind::kNegative) return refuse(409, error.message(), error.hint_text());
    core::log_error("tokens: {}", error.headline());
    return refuse(503, "the state of this server cannot be used now", "try again later");
}

AuditEntry token_entry(const Request& request, const Caller& caller, std::string what, std::string owner,
                       core::Time now) {
    return {.who = caller.identity.user,
            .what = std::move(what),
            .owner = std::move(owner),
            .time = now,
            .peer = request.peer};
}

Response no_such_token() {
    return refuse(404, "the token was not found");
}

// Whether the caller may look at tokens: not with what shows one job only, and nodes have none.
bool may_see_tokens(const Caller& caller, core::Time now) {
    const Identity& identity = caller.identity;
    const bool is_over = identity.scope.expires && now >= *identity.scope.expires;
    return !is_over && !identity.user.empty() && identity.proof != Proof::kLink && !identity.scope.job;
}

}  // namespace

std::vector<http::Route> TokenRoutes::routes() {
    using http::Method;
    using http::Place;
    std::vector<http::Route> routes;
    routes.push_back(
        {.method = Method::kPost,
         .pattern = "/api/v1/tokens",
         .handler = http::blocking(this, &TokenRoutes::make),
         .body_limit = kLongestTokenBody,
         .doc =
             "Makes a token for the one who asks, with what they may at most. Its text is in the answer and "
             "cannot be had again."});
    routes.push_back(
        {.method = Method::kGet,
         .pattern = "/api/v1/tokens",
         .handler = http::blocking(this, &TokenRoutes::list),
         .doc =
             "The tokens of the one who asks, newest first, also those that have ended. Without their text.",
         .parameters = {{"user", Place::kQuery, "of somebody else; for staff"}}});
    routes.push_back({.method = Method::kDelete,
                      .pattern = "/api/v1/tokens/{id}",
                      .handler = http::blocking(this, &TokenRoutes::revoke),
                      .doc = "Ends a token, and those that were made with it.",
                      .parameters = {{"id", Place::kPath, "its id"}}});
    routes.push_back({.method = Method::kGet,
                      .pattern = "/api/v1/me",
                      .handler = [this](Request& request) { return show_caller(request); },
                      .doc = "Who asks, as this server knows them."});
    return routes;
}

Response TokenRoutes::make(Request& request) {
    const auto caller = caller_in(request);
    if (!caller) return std::unexpected(caller.error());
    const auto wish = parse_token_wish(request.body);
    if (!wish) return std::unexpected(wish.error());
    const core::Time now = clock_.now();
    const auto facts = granted(*wish, *caller, lifetimes_, now);
    if (!facts) return std::unexpected(facts.error());
    const auto made =
        in_write(database_, token_deadline(), [&](Transaction& transaction) -> Result<MadeToken> {
            BELAY_TRY(token, create_token(transaction, *facts, now));
            BELAY_CHECK(append_audit(
                transaction, token_entry(request, *caller,
                                         fmt::format("token.create {} {}", token.id, role_name(facts->role)),
                                         facts->user, now)));
            return token;
        });
    if (!made) return failed_response(made.error());
    ordered_json json = facts_json(made->id, *facts);
    json["created"] = core::format_time(now);
    json["token"] = made->text;
    return json_response(json, 201);
}

Response TokenRoutes::list(Request& request) {
    const auto caller = caller_in(request);
    if (!caller) return std::unexpected(caller.error());
    const auto wanted = request.target.query.one("user");
    if (!wanted) return std::unexpected(wanted.error());
    const core::Time now = clock_.now();
    if (!may_see_tokens(*caller, now)) return refuse(403, "this token shows no tokens");
    const std::string user(wanted->value_or(caller->identity.user));
    const bool is_own = user == caller->identity.user;
    const Decision decision = is_own ? Decision{.is_allowed = true} : decide_operation(caller->identity, now);
    if (!decision.is_allowed) return refuse(404, "the user was not found");
    const auto find = [&](Transaction& transaction) -> Result<std::vector<StoredToken>> {
        if (decision.is_audited)
            BELAY_CHECK(append_audit(transaction, token_entry(request, *caller, "token.list", user, now)));
        return list_tokens(transaction, user);
    };
    const auto tokens = decision.is_audited ? in_write(database_, token_deadline(), find)
                                            : in_read(database_, token_deadline(), find);
    if (!tokens) return failed_response(tokens.error());
    ordered_json list = ordered_json::array();
    for (const StoredToken& token : *tokens) list.push_back(stored_json(token));
    return json_response({{"tokens", std::move(list)}});
}

// Who holds a token may end that one, even if it only reads.
Response TokenRoutes::revoke(Request& request) {
    const auto caller = caller_in(request);
    if (!caller) return std::unexpected(caller.error());
    const core::Time now = clock_.now();
    const std::string id(request.captured("id"));
    const bool is_in_hand = !caller->token.empty() && caller->token == id;
    if (!is_in_hand && (!may_see_tokens(*caller, now) || !caller->identity.scope.may_change))
        return refuse(403, "this token ends no others");
    const bool is_operator = decide_operation(caller->identity, now).is_allowed;
    const auto ended = in_write(
        database_, token_deadline(), [&](Transaction& transaction) -> Result<std::vector<std::string>> {
            BELAY_TRY(token, find_token(transaction, id));
            if (!token) return std::vector<std::string>();
            const bool is_own =
                token->facts.role != TokenRole::kNode && token->facts.user == caller->identity.user;
            if (!is_own && !is_in_hand && !is_operator) return std::vector<std::string>();
            BELAY_TRY(ids, revoke_token(transaction, id, now));
            if (ids.empty()) return ids;
            const std::string who =
                caller->identity.user.empty() ? to_http(*caller).name : caller->identity.user;
            AuditEntry entry = token_entry(request, *caller, "token.revoke " + id, token->facts.user, now);
            entry.who = who;
            BELAY_CHECK(append_audit(transaction, entry));
            return ids;
        });
    if (!ended) return failed_response(ended.error());
    if (ended->empty()) return no_such_token();
    for (const std::string& each : *ended) authenticator_.forget(each);
    return Response::empty();
}

Response TokenRoutes::show_caller(Request& request) const {
    const auto caller = caller_in(request);
    if (!caller) return std::unexpected(caller.error());
    const Identity& identity = caller->identity;
    ordered_json json = {{"user", text_json(identity.user)},    {"node", text_json(caller->node)},
                         {"proof", proof_name(identity.proof)}, {"staff", identity.is_staff},
                         {"member_of", identity.member_of},     {"manages", identity.manages}};
    json.update(scope_json(identity.scope));
    return json_response(json);
}

}  // namespace belay::server
