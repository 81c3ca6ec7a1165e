// A certificate for 127.0.0.1 and localhost, made for a test.
#pragma once

#include <cstdlib>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string>

namespace belay::http::testing {

struct Certificate {
    std::string certificate;  // PEM; it signs itself
    std::string key;
};

inline std::string text_of_bio(BIO* bio) {
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio, &text);
    std::string out(text, static_cast<size_t>(length));
    BIO_free(bio);
    return out;
}

inline Certificate make_certificate(const std::string& common_name) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), std::rand() + 1);  // NOLINT: one a certificate
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_EXTENSION* authority =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(certificate, names, -1);
    X509_add_ext(certificate, authority, -1);
    X509_sign(certificate, key, EVP_sha256());
    BIO* certificate_text = BIO_new(BIO_s_mem());
    BIO* key_text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(certificate_text, certificate);
    PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
    X509_EXTENSION_free(names);
    X509_EXTENSION_free(authority);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return {text_of_bio(certificate_text), text_of_bio(key_text)};
}

}  // namespace belay::http::testing
