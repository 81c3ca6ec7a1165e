// How browsers log in: by a provider of identities, or by a link to one job.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "http/router.h"
#include "server/login/authenticator.h"
#include "server/login/failure_limit.h"
#include "server/login/identity_provider.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct LoginOptions {
    std::string
        url;  // of this server as browsers see it: "https://belay.example.org"; the provider leads back to URL/auth/callback
    std::shared_ptr<IdentityProvider> provider = {};  // without it nobody logs in
    core::Duration session_length = std::chrono::hours(12);
    core::Duration link_session_length = std::chrono::hours(1);
    // Path of the page of a job; default: /jobs/KEY.
    std::function<std::string(const std::string& key)> job_page = {};
    FailureLimitOptions limit = {};  // of logins that begin and of links that are none, by peer
};

class LoginRoutes {
  public:
    // The authenticator must outlive it.
    LoginRoutes(database::Database database, Authenticator& authenticator, LoginOptions options,
                core::Clock& clock);

    // GET /auth/login?next=PAGE, GET /auth/callback, POST /auth/logout, GET /auth/link/{token}. This must outlive the server.
    std::vector<http::Route> routes();

  private:
    http::Response begin(http::Request& request);
    http::Response come_back(http::Request& request);
    http::Response log_out(http::Request& request);
    http::Response take(http::Request& request);

    struct LoggedIn {
        std::string session;  // for the cookie
        std::string next;
    };
    core::Result<LoggedIn> logged_in(const http::Request& request);
    core::Result<std::string> session_of_link(const http::Request& request, std::string& job);
    Client client() const;

    database::Database database_;
    Authenticator& authenticator_;
    const LoginOptions options_;
    core::Clock& clock_;
    FailureLimit limit_;
};

}  // namespace belay::server
