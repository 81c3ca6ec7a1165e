#include "server/api/people_routes.h"

#include "core/json.h"
#include "core/utf8.h"
#include "http/blocking.h"
#include "server/api/query_words.h"
#include "server/state/audit_store.h"
#include "server/state/export_user.h"
#include "server/state/link_store.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using http::Checked;
using http::Method;
using http::Request;
using http::Response;

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostLinkBytes = 1024;
constexpr int64_t kMostLinkHours = 24 * 365;

// {"hours": 24, "once": true}
Checked<LinkFacts> wanted_link(const Request& request, core::Time now) {
    const auto body = core::parse_json(request.body);
    const bool has_words = body.is_object() && body.value("hours", nlohmann::json()).is_number_integer() &&
                           body.value("once", nlohmann::json(true)).is_boolean();
    if (!has_words) return http::refuse(400, "the body is not {\"hours\": 24, \"once\": true or false}");
    // Compared as JSON, so that a number beyond 64 bits is not wrapped.
    if (body["hours"] < 1 || body["hours"] > kMostLinkHours)
        return http::refuse(400, fmt::format("hours: it is not from 1 to {}", kMostLinkHours));
    return LinkFacts{.is_once = body.value("once", true),
                     .expires = now + std::chrono::hours(core::integer_from<int64_t>(body["hours"]))};
}

// A link shows what who makes it sees; the job itself stays theirs to change.
Response make_link(const Gate& gate, const Request& request) {
    BELAY_TRY(facts, wanted_link(request, gate.now()));
    BELAY_TRY(job, gate.job(request, Wish::kLinkJob, "POST /api/v1/jobs/{job}/links"));
    BELAY_TRY(identity, gate.identity(request));
    facts.job = job.key;
    facts.made_by = identity.user;
    facts.is_staff = identity.is_staff;
    const auto made = create_link(gate.database(), facts, gate.now(), gate.deadline());
    if (!made) return http::response_to(refusal_of(made.error(), "make a link"));
    const Json answer = {{"id", made->id},
                         {"path", "/auth/link/" + made->text},
                         {"once", facts.is_once},
                         {"expires", core::format_time(facts.expires)}};
    return Response::json(answer.dump() + "\n", 201).with("cache-control", "no-store");
}

Response export_person(const Gate& gate, const Request& request) {
    const std::string user(request.captured("user"));
    BELAY_CHECK(gate.person(request, user, "GET /api/v1/users/{user}/export"));
    auto text = export_user(gate.database(), user, gate.now(), gate.deadline());
    if (!text) return http::response_to(refusal_of(text.error(), "export what is kept of a person"));
    return Response::json(std::move(*text)).with("cache-control", "no-store");
}

Response show_audit(const Gate& gate, const Request& request) {
    BELAY_TRY(page, page_of(request));
    BELAY_TRY(who, text_of(request, "who"));
    BELAY_TRY(owner, text_of(request, "owner"));
    BELAY_TRY(job, text_of(request, "job"));
    BELAY_CHECK(gate.operation(request, "GET /api/v1/audit"));
    const auto found =
        list_audit(gate.database(), {.who = who, .owner = owner, .job = job}, page, gate.deadline());
    if (!found) return http::response_to(refusal_of(found.error(), "list who looked"));
    const auto word = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    Json entries = Json::array();
    for (const AuditEntry& entry : found->entries)
        entries.push_back({{"time", core::format_time(entry.time)},
                           {"who", entry.who},
                           {"what", entry.what},
                           {"job", word(entry.job)},
                           {"owner", word(entry.owner)},
                           {"peer", word(entry.peer)}});
    const Json answer = {{"entries", std::move(entries)}, {"next", word(found->next)}};
    return Response::json(answer.dump() + "\n");
}

}  // namespace

std::vector<http::Route> people_routes(const Gate& gate) {
    const auto handler = [&gate](Response (*answer)(const Gate&, const Request&)) {
        return http::blocking([&gate, answer](Request& request) { return answer(gate, request); });
    };
    constexpr auto kPath = http::Place::kPath;
    constexpr auto kQuery = http::Place::kQuery;
    std::vector<http::Route> routes;
    routes.push_back({.method = Method::kPost,
                      .pattern = "/api/v1/jobs/{job}/links",
                      .handler = handler(make_link),
                      .body_limit = kMostLinkBytes,
                      .doc = "Makes a link that shows one job to somebody without an account: {\"hours\": "
                             "24, \"once\": true}.",
                      .parameters = {{"job", kPath, "key of a job, or its number"}}});
    routes.push_back({.method = Method::kGet,
                      .pattern = "/api/v1/users/{user}/export",
                      .handler = handler(export_person),
                      .doc = "All that is kept of a person, for them; nobody else has a name in it.",
                      .parameters = {{"user", kPath, "the person"}}});
    routes.push_back({.method = Method::kGet,
                      .pattern = "/api/v1/audit",
                      .handler = handler(show_audit),
                      .doc = "Who saw and did what that is not theirs, the latest first; for staff.",
                      .parameters = {{"who", kQuery, "by this user"},
                                     {"owner", kQuery, "of jobs of this user"},
                                     {"job", kQuery, "of the job with this key"},
                                     {"limit", kQuery, "entries of a page, 1 to 1000; without it 100"},
                                     {"cursor", kQuery, "the `next` of the page before"}}});
    return routes;
}

}  // namespace belay::server
