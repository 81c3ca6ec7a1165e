#include "core/hash.h"

#include <cstdlib>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fmt/ranges.h>

namespace belay::core {

namespace {

// It fails only without memory, and there is nothing to be done about that here.
void require(int result) {
    if (result != 1) std::abort();
}

void begin(EVP_MD_CTX* context) {
    require(EVP_DigestInit_ex(context, EVP_sha256(), nullptr));
}

}  // namespace

void Sha256::Free::operator()(EVP_MD_CTX* context) const {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    require(context_ != nullptr);
    begin(context_.get());
}

void Sha256::update(std::string_view bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Sha256Digest Sha256::finish() {
    Sha256Digest digest;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
    begin(context_.get());
    return digest;
}

Sha256Digest sha256(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view bytes) {
    Sha256Digest digest;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), nullptr);
    return digest;
}

Sha256Digest hkdf_extract(std::string_view salt, std::string_view secret) {
    return hmac_sha256(salt, secret);
}

Sha256Digest hkdf_expand(const Sha256Digest& extracted, std::string_view use) {
    return hmac_sha256(bytes_of(extracted), std::string(use) + '\x01');  // the first block
}

bool same_bytes(std::string_view a, std::string_view b) {
    return b.size() == a.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool same_digest(const Sha256Digest& a, std::string_view b) {
    return same_bytes(bytes_of(a), b);
}

std::string to_hex(const Sha256Digest& digest) {
    return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace belay::core
