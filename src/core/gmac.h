// AES-256-GMAC (NIST SP 800-38D): shows, at a speed near that of memory, that bytes come from one who knows the
// key. For messages of megabytes; where they are small, hmac_sha256() (core/hash.h) asks less of its user.
#pragma once

#include "core/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct evp_mac_ctx_st;  // EVP_MAC_CTX of OpenSSL

namespace belay::core {

class Gmac {
  public:
    static constexpr size_t kTagBytes = 16;
    using Tag = std::array<char, kTagBytes>;

    explicit Gmac(const Sha256Digest& key);

    // Begins a message. Who uses one number for two messages under one key gives the key away: the nonce of 96
    // bits is four bytes of zero and the number, big-endian.
    void begin(uint64_t number);
    void update(std::string_view bytes);
    Tag finish();
    // In place of finish(): whether the tag is this one. Takes the same time wherever they differ.
    bool finishes_as(std::string_view tag);

  private:
    struct Free {
        void operator()(evp_mac_ctx_st* context) const;
    };
    Sha256Digest key_;
    std::unique_ptr<evp_mac_ctx_st, Free> context_;
};

}  // namespace belay::core
