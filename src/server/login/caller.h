// Who sends a request, as handlers get to know it: the identity by which access/policy.h decides, and what it came from. It
// travels in http::Identity, whose words say all of it. Pure.
#pragma once

#include "http/refusal.h"
#include "http/request.h"
#include "server/access/policy.h"
#include "server/state/session_store.h"
#include "server/state/token_store.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

struct Caller {
    Identity identity = {};    // of a node: nobody's, which may see nothing
    std::string node = {};     // of a node's token: its name, or kAllNodes
    std::string token = {};    // id of the token; empty for others
    std::string project = {};  // the only one that the token allows
};

// What a token makes of its user, whose accounts are `known` now: no more than the role, and no more than the project, if it
// has one. Only one that those who run the server made gives anything beyond (a project, staff).
Caller caller_of(const StoredToken& token, const Identity& known);
// Likewise a session.
Caller caller_of(const StoredSession& session, const Identity& known);

http::Identity to_http(const Caller& caller);
// Nothing for words that to_http() does not write.
std::optional<Caller> from_http(const http::Identity& identity);

// Of a request to a route that needs an identity. Errors: 401.
http::Checked<Caller> caller_in(const http::Request& request);
http::Checked<Identity> identity_in(const http::Request& request);

// "munge", "oidc", "token", "link".
std::string_view proof_name(Proof proof);

// What everybody gets to read who was not recognised, whatever it was.
http::Refusal not_recognised();

}  // namespace belay::server
