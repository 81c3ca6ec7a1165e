#include "transfer/sha256.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace belay::transfer {

namespace {

const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Digest sha256(std::string_view text) {
    Digest digest;
    SHA256(bytes(text), text.size(), digest.data());
    return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view text) {
    Digest digest;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(text), text.size(), digest.data(),
         nullptr);
    return digest;
}

bool same_digest(const Digest& a, std::string_view b) {
    return b.size() == a.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace belay::transfer
