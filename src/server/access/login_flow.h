// Logging in by a provider of identities: OpenID Connect's code flow with PKCE (RFC 6749, RFC 7636, RFC 9207). Pure; who calls
// asks the provider and keeps a LoginAttempt for the minutes that a person takes.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <map>
#include <string>
#include <string_view>

namespace belay::server {

// As the provider publishes it (/.well-known/openid-configuration), checked.
struct Provider {
    std::string issuer;
    std::string authorization_endpoint;
    std::string token_endpoint;
    std::string keys_uri;
};
// `issuer` is the site's word; the document must say the same. All addresses must be https, or http on this machine for tests.
// Errors: kBadInput.
core::Result<Provider> parse_provider(std::string_view json, std::string_view issuer);

struct LoginAttempt {
    std::string state;     // comes back with the code: the browser that comes is the one that left
    std::string nonce;     // comes back in the token: it was made for this attempt
    std::string verifier;  // proves at the token endpoint that the code is ours
    core::Time expires;
};
// Errors: kSystem.
core::Result<LoginAttempt> begin_login(core::Time now);

struct Client {
    std::string id;
    std::string redirect_uri;
    std::string scope = "openid profile";
};
// Where the browser is sent.
std::string authorization_url(const Provider& provider, const Client& client, const LoginAttempt& attempt);
// The code, of what the browser came back with. Errors: kNegative, kDenied: another state, an expired attempt, another issuer,
// the provider's refusal.
core::Result<std::string> take_code(const std::map<std::string, std::string>& query,
                                    const LoginAttempt& attempt, const Provider& provider, core::Time now);
// The body of the request for the token: application/x-www-form-urlencoded.
std::string token_request(const Client& client, const LoginAttempt& attempt, std::string_view code);
// The id token in the answer. Errors: kSystem for what is not an answer.
core::Result<std::string> id_token_in(std::string_view json);

}  // namespace belay::server
