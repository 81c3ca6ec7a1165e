#include "server/login/login_routes.h"

#include "core/deadline.h"
#include "core/fetch/http.h"
#include "core/log.h"
#include "http/blocking.h"
#include "http/gate.h"
#include "server/access/token.h"
#include "server/login/cookie.h"
#include "server/login/next_page.h"
#include "server/state/attempt_store.h"
#include "server/state/audit_store.h"
#include "server/state/link_store.h"
#include "server/state/session_store.h"
#include "server/state/transacted.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

namespace belay::server {

using core::Result;
using database::Transaction;
using http::refuse;
using http::Request;
using http::Response;

namespace {

constexpr core::Duration kLoginWait = std::chrono::seconds(5);
constexpr core::Duration kLoginPatience = std::chrono::minutes(10);  // as login_flow.h gives a person

core::Deadline login_deadline() {
    return core::Deadline::after(kLoginWait);
}
core::Failure not_let_in(std::string_view why) {
    return core::negative("{}", why).because(core::Cause::kDenied);
}

// 303: whatever led here, the next request is a GET.
Response redirect(const std::string& where) {
    return Response::empty(303).with("location", where).with("cache-control", "no-store");
}
Response uncached(Response response) {
    return std::move(response).with("cache-control", "no-store");
}
Response too_many() {
    return uncached(refuse(429, "too many logins from this address", "try again later"));
}
Response not_now(const core::Error& error) {
    core::log_error("login: {}", error.headline());
    return uncached(refuse(503, "nobody can log in now", "try again later"));
}

// Errors: kNegative for one that is there twice: two readers could take different ones.
Result<std::map<std::string, std::string>> query_map(const http::Query& query) {
    std::map<std::string, std::string> values;
    for (const http::QueryParameter& parameter : query.parameters())
        if (!values.emplace(parameter.name, parameter.value).second)
            return not_let_in("a parameter of the answer stands there twice");
    return values;
}

// With its note in the log, in one transaction; what goes into the cookie.
Result<std::string> begin_session(Transaction& transaction, const SessionFacts& facts, const Request& request,
                                  core::Time now) {
    const bool is_link = facts.proof == Proof::kLink;
    BELAY_TRY(session, create_session(transaction, facts, now));
    BELAY_CHECK(append_audit(transaction, {.who = facts.user,
                                           .what = is_link ? "link.take" : "session.begin",
                                           .job = facts.job.value_or(""),
                                           .owner = is_link ? std::string() : facts.user,
                                           .time = now,
                                           .peer = request.peer}));
    return session.text;
}

// Browsers fetch what a person may click next (https://wicg.github.io/nav-speculation/prefetch.html); what is taken once must
// not be taken so.
bool is_fetched_ahead(const Request& request) {
    return request.headers.find("sec-purpose") || request.headers.find("purpose");
}

}  // namespace

LoginRoutes::LoginRoutes(database::Database database, Authenticator& authenticator, LoginOptions options,
                         core::Clock& clock)
    : database_(std::move(database)),
      authenticator_(authenticator),
      options_(std::move(options)),
      clock_(clock),
      limit_(options_.limit, clock) {}

Client LoginRoutes::client() const {
    return {.id = options_.provider->options().issuer.audience,
            .redirect_uri = options_.url + "/auth/callback"};
}

std::vector<http::Route> LoginRoutes::routes() {
    using http::Method;
    using http::Place;
    std::vector<http::Route> routes;
    routes.push_back({.method = Method::kGet,
                      .pattern = "/auth/login",
                      .handler = http::blocking(this, &LoginRoutes::begin),
                      .needs_identity = false,
                      .doc = "Leads a browser to the site's provider of identities.",
                      .parameters = {{"next", Place::kQuery, "page of this server where it goes then"}}});
    routes.push_back({.method = Method::kGet,
                      .pattern = "/auth/callback",
                      .handler = http::blocking(this, &LoginRoutes::come_back),
                      .needs_identity = false,
                      .doc = "Where the provider leads the browser back to, with a code."});
    routes.push_back({.method = Method::kPost,
                      .pattern = "/auth/logout",
                      .handler = http::blocking(this, &LoginRoutes::log_out),
                      .needs_identity = false,
                      .doc = "Ends the session of the browser."});
    routes.push_back({.method = Method::kGet,
                      .pattern = "/auth/link/{token}",
                      .handler = http::blocking(this, &LoginRoutes::take),
                      .needs_identity = false,
                      .doc = "Takes a link to a job: the browser sees that job for an hour.",
                      .parameters = {{"token", Place::kPath, "of the link"}}});
    return routes;
}

Response LoginRoutes::begin(Request& request) {
    if (!options_.provider)
        return uncached(refuse(404, "this server has no provider of identities", "use a token or munge"));
    const std::string peer = http::peer_group(request.peer);
    if (limit_.is_reached(peer)) return too_many();
    limit_.count(peer);
    const auto next = request.target.query.one("next");
    const auto addresses = options_.provider->addresses();
    if (!addresses) return not_now(addresses.error());
    const core::Time now = clock_.now();
    const auto attempt = begin_login(now);
    if (!attempt) return not_now(attempt.error());
    const auto browser = make_token();
    if (!browser) return not_now(browser.error());
    const auto put = put_attempt(database_,
                                 {.attempt = *attempt,
                                  .issuer = options_.provider->options().issuer.name,
                                  .browser = browser->secret,
                                  .next = safe_next(next ? next->value_or("/") : "/")},
                                 now, login_deadline());
    if (!put) return not_now(put.error());
    return redirect(authorization_url(*addresses, client(), *attempt))
        .with("set-cookie", cookie_field(kLoginCookie, browser->secret, kLoginPatience));
}

Result<LoginRoutes::LoggedIn> LoginRoutes::logged_in(const Request& request) {
    BELAY_TRY(query, query_map(request.target.query));
    const auto browser = cookie_of(request.headers, kLoginCookie);
    if (!browser) return not_let_in("the browser has no cookie of a login");
    const core::Time now = clock_.now();
    BELAY_TRY(attempt, take_attempt(database_, query["state"], *browser, now, login_deadline()));
    if (!attempt || attempt->issuer != options_.provider->options().issuer.name)
        return not_let_in("the login is unknown or has ended");
    BELAY_TRY(addresses, options_.provider->addresses());
    BELAY_TRY(code, take_code(query, attempt->attempt, addresses, now));
    BELAY_TRY(claims, options_.provider->exchange(client(), attempt->attempt, code));
    BELAY_TRY(person, options_.provider->person_in(claims));
    const SessionFacts facts{.user = person.user,
                             .is_staff = person.is_staff || authenticator_.is_staff(person.user),
                             .expires = now + options_.session_length};
    const auto begin = [&](Transaction& transaction) {
        return begin_session(transaction, facts, request, now);
    };
    BELAY_TRY(session, in_write(database_, login_deadline(), begin));
    return LoggedIn{.session = session, .next = safe_next(attempt->next)};
}

Response LoginRoutes::come_back(Request& request) {
    if (!options_.provider) return uncached(refuse(404, "this server has no provider of identities"));
    const std::string peer = http::peer_group(request.peer);
    if (limit_.is_reached(peer)) return too_many();
    const auto done = logged_in(request);
    if (done)
        return redirect(done->next)
            .with("set-cookie", cookie_field(kSessionCookie, done->session, options_.session_length))
            .with("set-cookie", no_cookie_field(kLoginCookie));
    if (done.error().kind() != core::ErrorKind::kNegative) return not_now(done.error());
    limit_.count(peer);
    core::log_warning("a login from {} failed: {}", request.peer, done.error().headline());
    return uncached(refuse(401, "the login did not succeed", "begin again at /auth/login"))
        .with("set-cookie", no_cookie_field(kLoginCookie));
}

Response LoginRoutes::log_out(Request& request) {
    if (!cookie_counts(request)) return refuse(403, "only a page of this server may log you out");
    const auto cookie = cookie_of(request.headers, kSessionCookie);
    const auto token = cookie ? parse_token(*cookie) : std::nullopt;
    if (token) {
        const auto session = find_session(database_, token->id, login_deadline());
        if (!session) return not_now(session.error());
        if (*session && is_token_of(*token, (*session)->digest)) {
            const auto ended = end_session(database_, token->id, login_deadline());
            if (!ended) return not_now(ended.error());
            authenticator_.forget(token->id);
        }
    }
    return uncached(Response::empty()).with("set-cookie", no_cookie_field(kSessionCookie));
}

// The link is taken and the session begun together, or neither.
Result<std::string> LoginRoutes::session_of_link(const Request& request, std::string& job) {
    const core::Time now = clock_.now();
    return in_write(database_, login_deadline(), [&](Transaction& transaction) -> Result<std::string> {
        BELAY_TRY(link, take_link(transaction, request.captured("token"), now));
        if (!link) return not_let_in("the link is unknown, or was taken, or has expired");
        job = link->facts.job;
        core::Time end = now + options_.link_session_length;
        if (!link->facts.is_once) end = std::min(end, link->facts.expires);
        const SessionFacts facts{.user = link->facts.made_by,
                                 .is_staff = link->facts.is_staff,
                                 .proof = Proof::kLink,
                                 .job = link->facts.job,
                                 .expires = end};
        return begin_session(transaction, facts, request, now);
    });
}

Response LoginRoutes::take(Request& request) {
    if (request.method != http::Method::kGet || is_fetched_ahead(request))
        return uncached(refuse(403, "a link is taken by a person who opens it"));
    const std::string peer = http::peer_group(request.peer);
    if (limit_.is_reached(peer)) return too_many();
    std::string job;
    const auto session = session_of_link(request, job);
    if (session) {
        const std::string page =
            options_.job_page ? options_.job_page(job) : "/jobs/" + core::fetch::url_encode(job);
        return redirect(page).with("set-cookie",
                                   cookie_field(kSessionCookie, *session, options_.link_session_length));
    }
    if (session.error().kind() != core::ErrorKind::kNegative) return not_now(session.error());
    limit_.count(peer);
    core::log_warning("a link that {} opened shows nothing: {}", request.peer, session.error().headline());
    return uncached(refuse(404, "this link shows nothing: it was taken, has expired, or never was",
                           "ask the person who sent it for another one"));
}

}  // namespace belay::server
