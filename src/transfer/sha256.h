// SHA-256 (FIPS 180-4) and HMAC (RFC 2104): how nodes prove to each other that they know the step's secret.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace belay::transfer {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view text);
Digest hmac_sha256(std::string_view key, std::string_view text);

// Takes the same time wherever they differ.
bool same_digest(const Digest& a, std::string_view b);

inline std::string_view bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace belay::transfer
