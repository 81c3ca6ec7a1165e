#include "image/digest.h"

#include "core/error.h"

#include <array>
#include <cstdlib>
#include <openssl/evp.h>

namespace belay::image {

namespace {

constexpr size_t kShortHexDigits = 12;
constexpr std::string_view kPrefix = "sha256:";

}  // namespace

struct Hasher::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
    // Fails only without memory, and there is nothing to be done about that here.
    void begin() const {
        if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) std::abort();
    }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
    state_->begin();
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::update(std::string_view bytes) {
    if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) std::abort();
}

std::string Hasher::finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned length = 0;
    if (EVP_DigestFinal_ex(state_->context, bytes.data(), &length) != 1) std::abort();
    state_->begin();
    std::string out(kPrefix);
    for (unsigned i = 0; i < length; ++i) out += fmt::format("{:02x}", bytes[i]);
    return out;
}

std::string digest_of(std::string_view bytes) {
    Hasher hasher;
    hasher.update(bytes);
    return hasher.finish();
}

std::string_view hex_of(std::string_view digest) {
    return digest.starts_with(kPrefix) ? digest.substr(kPrefix.size()) : digest;
}

std::string short_digest(std::string_view digest) {
    return std::string(kPrefix) + std::string(hex_of(digest).substr(0, kShortHexDigits));
}

}  // namespace belay::image
