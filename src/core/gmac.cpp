#include "core/gmac.h"

#include <cstdlib>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace belay::core {

namespace {

constexpr size_t kNonceBytesOfGmac = 12;

// It fails only without memory, and there is nothing to be done about that here.
void must_succeed(bool succeeded) {
    if (!succeeded) std::abort();
}

EVP_MAC_CTX* new_context() {
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "GMAC", nullptr);
    must_succeed(mac != nullptr);
    EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    must_succeed(context != nullptr);
    return context;
}

}  // namespace

void Gmac::Free::operator()(evp_mac_ctx_st* context) const {
    EVP_MAC_CTX_free(context);
}

Gmac::Gmac(const Sha256Digest& key) : key_(key), context_(new_context()) {
    char cipher[] = "AES-256-GCM";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, sizeof cipher - 1),
        OSSL_PARAM_construct_end()};
    must_succeed(EVP_MAC_CTX_set_params(context_.get(), parameters) == 1);
}

void Gmac::begin(uint64_t number) {
    std::array<unsigned char, kNonceBytesOfGmac> nonce{};
    for (size_t i = nonce.size(); number != 0; number >>= 8) nonce[--i] = number & 0xFF;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce.data(), nonce.size()),
        OSSL_PARAM_construct_end()};
    must_succeed(EVP_MAC_init(context_.get(), key_.data(), key_.size(), parameters) == 1);
}

void Gmac::update(std::string_view bytes) {
    if (bytes.empty()) return;
    must_succeed(EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                                bytes.size()) == 1);
}

Gmac::Tag Gmac::finish() {
    Tag tag{};
    size_t written = 0;
    must_succeed(EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(tag.data()), &written,
                               tag.size()) == 1 &&
                 written == tag.size());
    return tag;
}

bool Gmac::finishes_as(std::string_view tag) {
    const Tag own = finish();
    return same_bytes({own.data(), own.size()}, tag);
}

}  // namespace belay::core
