// People's own tokens over HTTP.
#pragma once

#include "core/time.h"
#include "database/database.h"
#include "http/router.h"
#include "server/login/authenticator.h"
#include "server/login/token_request.h"

#include <string>
#include <utility>
#include <vector>

namespace belay::server {

class TokenRoutes {
  public:
    // The authenticator must outlive it.
    TokenRoutes(database::Database database, Authenticator& authenticator, const TokenLifetimes& lifetimes,
                core::Clock& clock)
        : database_(std::move(database)),
          authenticator_(authenticator),
          lifetimes_(lifetimes),
          clock_(clock) {}

    // POST and GET /api/v1/tokens, DELETE /api/v1/tokens/{id}, GET /api/v1/me. This must outlive the server.
    std::vector<http::Route> routes();

  private:
    http::Response make(http::Request& request);
    http::Response list(http::Request& request);
    http::Response revoke(http::Request& request);
    http::Response show_caller(http::Request& request) const;

    database::Database database_;
    Authenticator& authenticator_;
    const TokenLifetimes lifetimes_;
    core::Clock& clock_;
};

}  // namespace belay::server
