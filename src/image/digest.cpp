#include "image/digest.h"

namespace belay::image {

namespace {

constexpr size_t kShortHexDigits = 12;
constexpr std::string_view kPrefix = "sha256:";

}  // namespace

std::string digest_text(const core::Sha256Digest& digest) {
    return std::string(kPrefix) + core::to_hex(digest);
}

std::string digest_of(std::string_view bytes) {
    return digest_text(core::sha256(bytes));
}

std::string_view hex_of(std::string_view digest) {
    return digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : digest;
}

std::string short_digest(std::string_view digest) {
    return std::string(kPrefix) + std::string(hex_of(digest).substr(0, kShortHexDigits));
}

}  // namespace belay::image
