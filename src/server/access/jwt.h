// Tokens of a provider of identities: signed JSON (RFC 7519), checked as RFC 8725 says. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/access/jwk.h"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::server {

// What a site says of a provider.
struct Issuer {
    std::string name;      // as in `iss`, to the letter
    std::string audience;  // that a token must be for: belayd's client id
    std::set<Algorithm> algorithms = {Algorithm::kRs256, Algorithm::kEs256, Algorithm::kEdDsa};
    core::Duration skew = std::chrono::seconds(60);        // between its clock and ours
    core::Duration longest_life = std::chrono::hours(24);  // from `iat` to `exp`
};

struct Claims {
    std::string subject;
    core::Time issued, expires;
    std::string nonce;   // empty where there is none
    nlohmann::json all;  // of the payload, for names and groups
};

// The header's key id, without which keys are tried in turn; for a caller that may fetch keys anew. Nothing where the token is
// not one.
std::optional<std::string> key_id_of(std::string_view token);

inline constexpr size_t kMaxTokenBytes = size_t{16} << 10;

// Errors: kNegative, kDenied, with why for a log: the one who sent it hears no more than that it is not accepted.
core::Result<Claims> verify_token(std::string_view token, const Issuer& issuer,
                                  std::span<const PublicKey> keys, core::Time now);

}  // namespace belay::server
