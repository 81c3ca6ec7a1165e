// Hashes. FNV-1a tells texts apart and resists nobody. SHA-256 (FIPS 180-4) is what contents are known by,
// and, as HMAC (RFC 2104), how processes prove to each other that they know a secret; as HKDF (RFC 5869) it makes
// keys of one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // EVP_MD_CTX of OpenSSL

namespace belay::core {

// Of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/).
inline constexpr uint64_t kFnv1aOfNothing = 14695981039346656037U;
// Of bytes that come piece by piece: fnv1a(b, fnv1a(a)) is fnv1a(a + b).
constexpr uint64_t fnv1a(std::string_view bytes, uint64_t before = kFnv1aOfNothing) {
    uint64_t hash = before;
    for (char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211U;
    return hash;
}

using Sha256Digest = std::array<uint8_t, 32>;

// Of bytes that come piece by piece.
class Sha256 {
  public:
    Sha256();

    void update(std::string_view bytes);
    // Of what was added; afterwards it begins anew.
    Sha256Digest finish();

  private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Sha256Digest sha256(std::string_view bytes);
Sha256Digest hmac_sha256(std::string_view key, std::string_view bytes);

// RFC 5869, sections 2.2 and 2.3: what keys are made of, and one of 32 bytes for a use. Those of two uses say nothing
// about each other.
Sha256Digest hkdf_extract(std::string_view salt, std::string_view secret);
Sha256Digest hkdf_expand(const Sha256Digest& extracted, std::string_view use);

// Take the same time wherever they differ.
bool same_bytes(std::string_view a, std::string_view b);
bool same_digest(const Sha256Digest& a, std::string_view b);

// 64 digits in lower case.
std::string to_hex(const Sha256Digest& digest);

inline std::string_view bytes_of(const Sha256Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace belay::core
