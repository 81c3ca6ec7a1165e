// Public keys of a provider of identities, as it publishes them: a JSON Web Key Set (RFC 7517). Pure.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;  // EVP_PKEY of OpenSSL

namespace belay::server {

// Those that a token may be signed with (RFC 7518, section 3.1; RFC 8037). HMAC and "none" are not among them: whoever
// could check such a token could make one.
enum class Algorithm : uint8_t { kRs256, kRs384, kRs512, kEs256, kEs384, kEdDsa };
std::string_view algorithm_name(Algorithm algorithm);
std::optional<Algorithm> algorithm_named(std::string_view name);

class PublicKey {
  public:
    PublicKey(std::string id, std::optional<Algorithm> only, evp_pkey_st* key);
    const std::string& id() const { return id_; }
    // Whether it is of the kind that the algorithm needs, and not made for another one.
    bool fits(Algorithm algorithm) const;
    // Whether `signature`, as it stands in a token, is of `message`.
    bool verifies(Algorithm algorithm, std::string_view message, std::string_view signature) const;

  private:
    std::string id_;
    std::optional<Algorithm> only_;
    std::shared_ptr<evp_pkey_st> key_;
};

// A document of more than this is not a set of keys.
inline constexpr size_t kMaxKeySetBytes = size_t{256} << 10;

// Keys for encryption, of unknown kinds, and RSA keys below 2,048 bits are left out. Errors: kBadInput for what is not a
// set of keys, or holds none that can be used.
core::Result<std::vector<PublicKey>> parse_key_set(std::string_view json);

}  // namespace belay::server
