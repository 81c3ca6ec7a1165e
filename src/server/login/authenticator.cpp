#include "server/login/authenticator.h"

#include "core/hash.h"
#include "core/log.h"
#include "core/text.h"
#include "http/gate.h"
#include "server/login/cookie.h"
#include "server/login/munge_payload.h"
#include "server/state/account_store.h"
#include "server/state/session_store.h"
#include "server/state/token_store.h"
#include "server/state/transacted.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kMostReplays = 200'000, kMostReplaysOfUser = 20'000;
// A credential is valid from kMungeWindow before its time until kMungeWindow after it.
constexpr core::Duration kReplayTime = 2 * kMungeWindow + std::chrono::seconds(30);

constexpr core::Duration kMungeRest = std::chrono::seconds(2);

core::Failure not_known(std::string_view why) {
    return core::negative("{}", why).because(core::Cause::kDenied);
}

std::string remembered_as(bool is_session, std::string_view id) {
    return fmt::format("{} {}", is_session ? "session" : "token", id);
}

// The value of "SCHEME VALUE".
std::optional<std::string_view> value_of_scheme(std::string_view authorization, std::string_view scheme) {
    const size_t blank = authorization.find(' ');
    if (blank == std::string_view::npos || core::lower_case(authorization.substr(0, blank)) != scheme)
        return std::nullopt;
    const std::string_view value = core::trim(authorization.substr(blank));
    return value.empty() || value.find(' ') != std::string_view::npos ? std::nullopt : std::optional(value);
}

}  // namespace

Authenticator::Authenticator(database::Database database, AuthenticatorOptions options, core::Clock& clock)
    : database_(std::move(database)),
      options_(std::move(options)),
      clock_(clock),
      failures_(options_.failures, clock),
      complaints_({.burst = 10, .recovery = std::chrono::seconds(10), .peers = 16}, clock),
      replays_(kReplayTime, kMostReplays, kMostReplaysOfUser, clock),
      remembered_(options_.most_remembered),
      persons_(options_.most_remembered) {}

// Where there is a field Authorization, a cookie does not count: who sends both means the former.
Authenticator::Given Authenticator::given_by(const http::Request& request) {
    const auto fields = request.headers.all("authorization");
    if (fields.size() > 1) return {.kind = Kind::kUnknown};
    if (fields.size() == 1) {
        if (const auto munge = value_of_scheme(fields[0], "munge"))
            return {.kind = Kind::kMunge, .text = *munge};
        const auto bearer = bearer_of(fields[0]);
        if (!bearer) return {.kind = Kind::kUnknown};
        if (auto token = parse_token(*bearer)) return {.kind = Kind::kToken, .text = *bearer, .token = token};
        return {.kind = Kind::kSigned, .text = *bearer};
    }
    const auto cookie = cookie_of(request.headers, kSessionCookie);
    if (!cookie || !cookie_counts(request)) return {};
    auto token = parse_token(*cookie);
    if (!token) return {};
    return {.kind = Kind::kSession, .text = *cookie, .token = std::move(token)};
}

std::optional<Caller> Authenticator::remembered(const Given& given) {
    if (!given.token) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const Remembered* found = remembered_.find(remembered_as(given.kind == Kind::kSession, given.token->id));
    if (found == nullptr || clock_.monotonic() - found->at >= options_.believed_for) return std::nullopt;
    const auto& expires = found->caller.identity.scope.expires;
    if (expires && clock_.now() >= *expires) return std::nullopt;
    if (!is_token_of(*given.token, found->digest)) return std::nullopt;
    return found->caller;
}

// Unless something was forgotten since it was looked up: it may have been this.
void Authenticator::remember(const Given& given, const std::string& digest, const Caller& caller,
                             uint64_t forgotten_before) {
    const std::lock_guard lock(mutex_);
    if (forgotten_ != forgotten_before) return;
    remembered_.put(remembered_as(given.kind == Kind::kSession, given.token->id),
                    {.digest = digest, .caller = caller, .at = clock_.monotonic()});
}

void Authenticator::forget(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ++forgotten_;
    for (const bool is_session : {false, true}) remembered_.remove(remembered_as(is_session, id));
}

// Each kind by itself: on a node with many users, one who guesses tokens does not keep the others' munge out.
std::string Authenticator::counted_as(const Given& given, const http::Request& request) {
    return fmt::format("{} {}", static_cast<int>(given.kind), http::peer_group(request.peer));
}

std::optional<http::Checked<Caller>> Authenticator::answered_at_once(const Given& given,
                                                                     const http::Request& request) {
    if (given.kind == Kind::kNone) return std::unexpected(not_recognised());
    if (auto caller = remembered(given)) return std::move(*caller);
    if (failures_.is_reached(counted_as(given, request)))
        return http::refuse(429, "too many requests from this address were not recognised",
                            "try again later");
    return std::nullopt;
}

http::Checked<Caller> Authenticator::check(const http::Request& request) {
    const Given given = given_by(request);
    if (auto answer = answered_at_once(given, request)) return std::move(*answer);
    auto caller = look_up(given, request);
    if (caller) return std::move(*caller);
    if (caller.error().kind() != core::ErrorKind::kNegative) return not_found_out(given, caller.error());
    failures_.count(counted_as(given, request));
    core::log_warning("a request from {} was not recognised: {}", request.peer, caller.error().headline());
    return std::unexpected(not_recognised());
}

uint64_t Authenticator::forgotten() {
    const std::lock_guard lock(mutex_);
    return forgotten_;
}

http::Checked<Caller> Authenticator::not_found_out(const Given& given, const core::Error& why) {
    const std::string kind = std::to_string(static_cast<int>(given.kind));
    if (!complaints_.is_reached(kind)) {
        core::log_error("who asks cannot be found out: {}", why.headline());
        complaints_.count(kind);
    }
    return http::refuse(503, "who sends this cannot be found out now", "try again later");
}

http::Authenticate Authenticator::for_server() {
    return [this](const http::Request& request) -> http::Task<http::Checked<http::Identity>> {
        if (const auto answer = answered_at_once(given_by(request), request)) {
            if (!*answer) co_return std::unexpected(answer->error());
            co_return to_http(**answer);
        }
        auto work = http::run_blocking(*request.workers, [this, &request] { return check(request); });
        BELAY_CO_TRY(checked, co_await work);
        BELAY_CO_TRY(caller, std::move(checked));
        co_return to_http(caller);
    };
}

Result<Caller> Authenticator::look_up(const Given& given, const http::Request& request) {
    switch (given.kind) {
        case Kind::kToken:
            return by_token(given);
        case Kind::kSession:
            return by_session(given);
        case Kind::kSigned:
            return by_signed_token(given.text);
        case Kind::kMunge:
            return by_munge(given.text, request);
        case Kind::kNone:
        case Kind::kUnknown:
            break;
    }
    return not_known("its field Authorization is there twice, or not one that is known here");
}

Result<Caller> Authenticator::by_token(const Given& given) {
    struct Found {
        std::optional<StoredToken> token;
        Identity known = {};
    };
    const auto find = [&](database::Transaction& transaction) -> Result<Found> {
        BELAY_TRY(token, find_token(transaction, given.token->id));
        if (!token) return Found{};
        BELAY_TRY(known, identity_of(transaction, token->facts.user));
        return Found{.token = std::move(token), .known = std::move(known)};
    };
    const uint64_t forgotten_before = forgotten();
    BELAY_TRY(found, in_read(database_, deadline(), find));
    const core::Time now = clock_.now();
    if (!found.token) return not_known("the token is unknown");
    if (!is_token_of(*given.token, found.token->digest)) return not_known("the secret of a token is wrong");
    if (!found.token->is_live(now)) return not_known(fmt::format("the token {} has ended", found.token->id));
    Caller caller = caller_of(*found.token, found.known);
    remember(given, found.token->digest, caller, forgotten_before);
    const auto& last = found.token->last_used;
    if (!last || *last + kTokenUseStep <= now) {
        const auto noted = note_token_use(database_, found.token->id, now, deadline());
        if (!noted) core::log_warning("the use of a token is not noted: {}", noted.error().headline());
    }
    return caller;
}

Result<Caller> Authenticator::by_session(const Given& given) {
    struct Found {
        std::optional<StoredSession> session;
        Identity known = {};
    };
    const auto find = [&](database::Transaction& transaction) -> Result<Found> {
        BELAY_TRY(session, find_session(transaction, given.token->id));
        if (!session) return Found{};
        BELAY_TRY(known, identity_of(transaction, session->facts.user));
        return Found{.session = std::move(session), .known = std::move(known)};
    };
    const uint64_t forgotten_before = forgotten();
    BELAY_TRY(found, in_read(database_, deadline(), find));
    if (!found.session) return not_known("the session is unknown");
    if (!is_token_of(*given.token, found.session->digest))
        return not_known("the secret of a session is wrong");
    if (clock_.now() >= found.session->facts.expires) return not_known("the session has ended");
    Caller caller = caller_of(*found.session, found.known);
    remember(given, found.session->digest, caller, forgotten_before);
    return caller;
}

Result<Caller> Authenticator::by_signed_token(std::string_view text) {
    const auto issuer = issuer_named_in(text);
    if (!issuer) return not_known("what it bears is not a token");
    const auto provider =
        std::ranges::find(options_.providers, *issuer,
                          [](const auto& one) -> const std::string& { return one->options().issuer.name; });
    if (provider == options_.providers.end()) return not_known("a token of an issuer that is not known here");
    BELAY_TRY(claims, (*provider)->verify(text));
    BELAY_TRY(person, (*provider)->person_in(claims));
    BELAY_TRY(identity, known_person(person.user));
    identity.proof = Proof::kOidc;
    identity.is_staff = person.is_staff || is_staff(person.user);
    identity.scope.expires = claims.expires;
    return Caller{.identity = std::move(identity)};
}

// A daemon that does not answer keeps a thread for seconds, so it is not asked again at once.
Result<OpenedCredential> Authenticator::opened(const std::string& credential) {
    {
        const std::lock_guard lock(mutex_);
        if (munge_failed_ && clock_.monotonic() - *munge_failed_ < kMungeRest)
            return core::system_error("munge failed a moment ago").because(core::Cause::kUnreachable);
    }
    auto opened = options_.decode_munge(credential, deadline());
    if (opened) return opened;
    if (opened.error().cause() == core::Cause::kDenied) return not_known(opened.error().message());
    const std::lock_guard lock(mutex_);
    munge_failed_ = clock_.monotonic();
    return opened;
}

Result<Caller> Authenticator::by_munge(std::string_view text, const http::Request& request) {
    if (!options_.decode_munge || !options_.user_name) return not_known("munge counts for nothing here");
    if (!is_munge_text(text)) return not_known("what it brings is not a credential of munge");
    const auto host = http::host_name_of(request.headers.find("host").value_or(""));
    if (!host || std::ranges::find(options_.hosts, *host) == options_.hosts.end())
        return not_known("it is for a name that this server does not have");
    const std::string credential(text);
    BELAY_TRY(opened, this->opened(credential));
    const MungeRequest asked = {
        .host = *host, .method = std::string(http::method_name(request.method)), .path = request.target.path};
    const auto fits = check_munge_payload(opened.payload, asked, clock_.now());
    if (!fits)
        return std::unexpected(
            core::Error(fits.error()).context(fmt::format("a credential of user {}", opened.uid)));
    switch (replays_.take(credential, opened.uid)) {
        case ReplayCache::Answer::kFirst:
            break;
        case ReplayCache::Answer::kAgain:
            return not_known(fmt::format("a credential of user {} came twice", opened.uid));
        case ReplayCache::Answer::kFull:
            return not_known(
                fmt::format("user {} has sent more credentials than are remembered", opened.uid));
    }
    BELAY_TRY(user, user_of(opened.uid));
    BELAY_TRY(identity, known_person(user));
    identity.proof = Proof::kMunge;
    identity.is_staff = is_staff(user);
    return Caller{.identity = std::move(identity)};
}

Result<std::string> Authenticator::user_of(uid_t uid) {
    auto name = options_.user_name(uid);
    if (!name && name.error().cause() == core::Cause::kNotFound)
        return not_known(fmt::format("user {} is unknown", uid));
    return name;
}

Result<Identity> Authenticator::known_person(const std::string& user) {
    {
        const std::lock_guard lock(mutex_);
        const KnownPerson* found = persons_.find(user);
        if (found != nullptr && clock_.monotonic() - found->at < options_.believed_for)
            return found->identity;
    }
    BELAY_TRY(identity, identity_of(database_, user, deadline()));
    const std::lock_guard lock(mutex_);
    persons_.put(user, {.identity = identity, .at = clock_.monotonic()});
    return identity;
}

}  // namespace belay::server
