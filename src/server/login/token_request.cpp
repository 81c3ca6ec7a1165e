#include "server/login/token_request.h"

#include "core/json.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using http::Checked;
using http::refuse;

namespace {

// Throws the library's exceptions.
void read_wish_key(const std::string& key, const nlohmann::json& value, TokenWish& wish) {
    if (key == "label") wish.label = value.get<std::string>();
    if (key == "project") wish.project = value.get<std::string>();
    if (key == "read_only") wish.is_read_only = value.get<bool>();
    if (key == "job" && !value.is_null()) wish.job = value.get<std::string>();
    if (key == "days") wish.days = core::integer_from<int>(value);
}

Checked<TokenWish> read_wish(const nlohmann::json& body) {
    constexpr std::array<std::string_view, 6> kKeys = {"label",     "role", "project",
                                                       "read_only", "job",  "days"};
    TokenWish wish;
    for (const auto& [key, value] : body.items()) {
        if (std::ranges::find(kKeys, key) == kKeys.end())
            return refuse(400, fmt::format("a token has no \"{}\"", core::printable(key)),
                          "it has label, role, project, read_only, job and days");
        if (key != "role") {
            read_wish_key(key, value, wish);
            continue;
        }
        const auto role = role_named(value.get<std::string>());
        if (!role) return refuse(400, "the role of a token is user or manager");
        wish.role = *role;
    }
    return wish;
}

// Whether this caller may have tokens at all.
Checked<> check_caller(const Caller& caller) {
    const Identity& identity = caller.identity;
    if (identity.user.empty() || !caller.node.empty()) return refuse(403, "tokens are for people");
    if (identity.proof == Proof::kLink)
        return refuse(403, "a link to a job shows that job and makes no tokens");
    if (!identity.scope.may_change) return refuse(403, "a token that only reads makes no others");
    return {};
}

Checked<> check_role(const TokenWish& wish, const Identity& identity) {
    if (wish.role == TokenRole::kUser) return {};
    if (wish.role == TokenRole::kManager && !identity.manages.empty()) return {};
    if (wish.role == TokenRole::kManager) return refuse(403, "you manage no project");
    return refuse(403, fmt::format("tokens with the role {} are not made here", role_name(wish.role)),
                  "those who run the server make them: belayd token create");
}

Checked<std::string> granted_project(const TokenWish& wish, const Caller& caller) {
    if (!caller.project.empty() && !wish.project.empty() && wish.project != caller.project)
        return refuse(403, "your own token is for another project");
    if (wish.project.empty()) return caller.project;
    const bool is_manager = wish.role == TokenRole::kManager;
    const auto& own = is_manager ? caller.identity.manages : caller.identity.member_of;
    if (!own.contains(wish.project))
        return refuse(403,
                      is_manager ? "you do not manage this project" : "you do not belong to this project");
    return wish.project;
}

Checked<core::Time> granted_end(const TokenWish& wish, const Caller& caller, const TokenLifetimes& lifetimes,
                                core::Time now) {
    const int days = wish.days.value_or(lifetimes.usual_days);
    if (days < 1 || days > lifetimes.most_days)
        return refuse(400, fmt::format("a token is made for 1 to {} days", lifetimes.most_days));
    const core::Time end = now + std::chrono::days(days);
    const auto& own_end = caller.identity.scope.expires;
    const bool is_bounded = !caller.token.empty() && own_end;
    return is_bounded ? std::min(end, *own_end) : end;
}

}  // namespace

Checked<TokenWish> parse_token_wish(std::string_view json) {
    if (json.empty()) return TokenWish{};
    const nlohmann::json body = core::parse_json(json);
    if (!body.is_object()) return refuse(400, "the body is not a JSON object");
    try {
        return read_wish(body);
    } catch (const nlohmann::json::exception&) {
        return refuse(
            400, "a value in the body is of another type",
            "label, role, project and job are texts, read_only is true or false, days a whole number");
    }
}

Checked<TokenFacts> granted(const TokenWish& wish, const Caller& caller, const TokenLifetimes& lifetimes,
                            core::Time now) {
    if (auto checked = check_caller(caller); !checked) return std::unexpected(checked.error());
    if (auto checked = check_role(wish, caller.identity); !checked) return std::unexpected(checked.error());
    auto project = granted_project(wish, caller);
    if (!project) return std::unexpected(project.error());
    const auto end = granted_end(wish, caller, lifetimes, now);
    if (!end) return std::unexpected(end.error());
    const auto& own_job = caller.identity.scope.job;
    if (own_job && wish.job && *wish.job != *own_job) return refuse(403, "your own token is for another job");
    return TokenFacts{
        .role = wish.role,
        .user = caller.identity.user,
        .project = std::move(*project),
        .scope = {.may_change = !wish.is_read_only, .job = own_job ? own_job : wish.job, .expires = *end},
        .label = wish.label,
        .made_by = caller.identity.user,
        .parent = caller.token};
}

}  // namespace belay::server
