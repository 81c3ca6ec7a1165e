// Who sends a request: by a token of belayd's, a token of a provider of identities, a credential of munge, or a browser's cookie.
//
//   Authenticator authenticator(database, options, clock);
//   http_options.authenticate = authenticator.for_server();       // must outlive the server
//   … in a handler: BELAY_CO_TRY(identity, identity_in(request));  // caller.h
//
// All that is not recognised is answered alike; why is in the log. A peer that fails too often is not looked at for a while.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "http/request.h"
#include "http/server/server.h"
#include "server/access/token.h"
#include "server/login/caller.h"
#include "server/login/failure_limit.h"
#include "server/login/identity_provider.h"
#include "server/login/munge_decode.h"
#include "server/login/recent.h"
#include "server/login/replay_cache.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct AuthenticatorOptions {
    // Names of this server, in lower case: those that credentials of munge may be for.
    std::vector<std::string> hosts = {};
    std::set<std::string> staff = {};  // users who are staff when munge or a provider says who they are
    std::vector<std::shared_ptr<IdentityProvider>> providers = {};
    DecodeMunge decode_munge = {};  // without it, munge counts for nothing
    UserName user_name = {};        // of a credential's uid; likewise
    // How long what the database says of a token or a session is believed: a revocation counts after that at the latest, at once
    // where this process did it.
    core::Duration believed_for = std::chrono::seconds(10);
    core::Duration longest_wait = std::chrono::seconds(5);  // for the database
    size_t most_remembered = 10'000;                        // tokens and sessions
    FailureLimitOptions failures = {};
};

// Thread-safe.
class Authenticator {
  public:
    Authenticator(database::Database database, AuthenticatorOptions options, core::Clock& clock);

    // Blocks. Errors: 401, always the same; 429 where this peer has failed too often; 503 where it cannot be found out now.
    http::Checked<Caller> check(const http::Request& request);
    // For http::Options: what is remembered answers at once, the rest in a thread of request.workers.
    http::Authenticate for_server();

    // A token or session that was ended here counts at once.
    void forget(std::string_view id);
    // Whether the person is staff by the site's word.
    bool is_staff(std::string_view user) const { return options_.staff.contains(std::string(user)); }

  private:
    enum class Kind : uint8_t { kNone, kUnknown, kToken, kSession, kSigned, kMunge };
    struct Given {
        Kind kind = Kind::kNone;
        std::string_view text = {};
        std::optional<Token> token = {};  // of kToken and kSession
    };
    struct Remembered {
        std::string digest;
        Caller caller;
        core::Duration at{};  // monotonic
    };

    static Given given_by(const http::Request& request);
    static std::string counted_as(const Given& given, const http::Request& request);
    // What needs nothing that blocks; nothing where it must be looked up.
    std::optional<http::Checked<Caller>> answered_at_once(const Given& given, const http::Request& request);
    http::Checked<Caller> not_found_out(const Given& given, const core::Error& why);
    // Of what was looked up a moment ago; nothing where it must be looked up.
    std::optional<Caller> remembered(const Given& given);
    void remember(const Given& given, const std::string& digest, const Caller& caller,
                  uint64_t forgotten_before);
    uint64_t forgotten();
    core::Result<Caller> look_up(const Given& given, const http::Request& request);
    core::Result<Caller> by_token(const Given& given);
    core::Result<Caller> by_session(const Given& given);
    core::Result<Caller> by_signed_token(std::string_view text);
    core::Result<Caller> by_munge(std::string_view text, const http::Request& request);
    core::Result<OpenedCredential> opened(const std::string& credential);
    core::Result<Identity> known_person(const std::string& user);
    core::Result<std::string> user_of(uid_t uid);
    core::Deadline deadline() const { return core::Deadline::after(options_.longest_wait); }

    database::Database database_;
    const AuthenticatorOptions options_;
    core::Clock& clock_;
    FailureLimit failures_;
    FailureLimit complaints_;  // in the log, of what cannot be found out
    ReplayCache replays_;
    std::mutex mutex_;               // of what follows
    uint64_t forgotten_ = 0;         // how often forget() was called
    Recent<Remembered> remembered_;  // by kind and id
    struct KnownPerson {
        Identity identity;
        core::Duration at{};
    };
    Recent<KnownPerson> persons_;
    std::optional<core::Duration> munge_failed_;  // monotonic; the last time
};

}  // namespace belay::server
