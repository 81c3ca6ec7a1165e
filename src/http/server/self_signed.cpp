#include "http/server/self_signed.h"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string_view>

#include <fmt/format.h>

namespace belay::http {

using core::Result;

namespace {

template <auto release>
struct Release {
    template <typename T>
    void operator()(T* object) const {
        release(object);
    }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, Release<X509_free>>;
using BioPointer = std::unique_ptr<BIO, Release<BIO_free_all>>;
using ExtensionPointer = std::unique_ptr<X509_EXTENSION, Release<X509_EXTENSION_free>>;

core::Failure openssl_failure() {
    return core::system_error("OpenSSL cannot make a certificate");
}

bool is_address(std::string_view name) {
    return name.find(':') != std::string_view::npos ||
           name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
    const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
    uint64_t serial = 0;
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
    return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

bool set_names(X509* certificate, const std::string& common_name, std::span<const std::string> names) {
    std::string alternatives;
    for (const std::string& name : names)
        alternatives +=
            fmt::format("{}{}:{}", alternatives.empty() ? "" : ",", is_address(name) ? "IP" : "DNS", name);
    X509_NAME* subject = X509_get_subject_name(certificate);
    const auto* common = reinterpret_cast<const unsigned char*>(common_name.c_str());
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, common, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, subject) == 1 &&
           add_extension(certificate, NID_subject_alt_name, alternatives) &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
}

std::string text_in(BIO* bio) {
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio, &text);
    return {text, static_cast<size_t>(length)};
}

}  // namespace

Result<SelfSigned> make_self_signed(const std::string& name, std::span<const std::string> hosts,
                                    core::Time now, core::Duration length) {
    const KeyPointer key(EVP_EC_gen("P-256"));
    const CertificatePointer certificate(X509_new());
    if (!key || !certificate) return openssl_failure();
    const auto second = static_cast<time_t>(core::to_nanoseconds(now) / 1'000'000'000);
    auto begin = second - 3600;
    auto end = second + static_cast<time_t>(std::chrono::duration_cast<std::chrono::seconds>(length).count());
    X509* one = certificate.get();
    const bool is_made = X509_set_version(one, X509_VERSION_3) == 1 && set_serial(one) &&
                         X509_time_adj_ex(X509_getm_notBefore(one), 0, 0, &begin) != nullptr &&
                         X509_time_adj_ex(X509_getm_notAfter(one), 0, 0, &end) != nullptr &&
                         X509_set_pubkey(one, key.get()) == 1 && set_names(one, name, hosts) &&
                         X509_sign(one, key.get(), EVP_sha256()) > 0;
    const BioPointer certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
    if (!is_made || !certificate_text || !key_text || PEM_write_bio_X509(certificate_text.get(), one) != 1 ||
        PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return openssl_failure();
    return SelfSigned{.certificate = text_in(certificate_text.get()), .key = text_in(key_text.get())};
}

}  // namespace belay::http
