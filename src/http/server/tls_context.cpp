#include "http/server/tls_context.h"

#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string_view>
#include <sys/stat.h>

namespace belay::http {

namespace {

constexpr size_t kLongestFile = size_t{1} << 20;

struct Free {
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

core::Failure tls_failure(std::string_view what) {
    const unsigned long code = ERR_get_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return core::bad_input("{}{}{}", what, reason == nullptr ? "" : ": ", reason == nullptr ? "" : reason);
}

// Nobody is asked on a terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
    return -1;
}

Owned<BIO> bio_of(std::string_view text) {
    return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

core::Result<> use_certificates(SSL_CTX* context, std::string_view text, const std::filesystem::path& path) {
    const Owned<BIO> bio = bio_of(text);
    const Owned<X509> own(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (!own) return tls_failure(fmt::format("{} holds no certificate in PEM", path.string()));
    if (SSL_CTX_use_certificate(context, own.get()) != 1)
        return tls_failure(fmt::format("the certificate in {} cannot be used", path.string()));
    for (;;) {
        Owned<X509> next(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
        if (!next && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) break;  // the end
        if (!next || SSL_CTX_add0_chain_cert(context, next.get()) != 1)
            return tls_failure(fmt::format("a certificate in {} cannot be used", path.string()));
        (void)next.release();
    }
    ERR_clear_error();
    return {};
}

core::Result<> use_key(SSL_CTX* context, std::string_view text, const std::filesystem::path& path) {
    const Owned<BIO> bio = bio_of(text);
    const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
    if (!key)
        return tls_failure(fmt::format("{} holds no private key in PEM without a password", path.string()));
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
        return tls_failure(fmt::format("the key in {} does not belong to the certificate", path.string()));
    return {};
}

int select_protocol(SSL* /*tls*/, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned offered_length, void* /*user*/) {
    constexpr std::string_view kOurs = "\x08http/1.1";
    unsigned char* chosen = nullptr;
    const int found =
        SSL_select_next_proto(&chosen, out_length, reinterpret_cast<const unsigned char*>(kOurs.data()),
                              kOurs.size(), offered, offered_length);
    *out = chosen;
    // RFC 7301, section 3.2: a client that offers other protocols only is turned away.
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Empty where one of them cannot be looked at.
std::string stamp_of(const TlsFiles& files) {
    std::string stamp;
    for (const std::filesystem::path* path : {&files.certificate, &files.key}) {
        struct stat facts{};
        if (stat(path->c_str(), &facts) != 0) return {};
        stamp += fmt::format("{} {} {} {} {};", facts.st_dev, facts.st_ino, facts.st_size,
                             facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    }
    return stamp;
}

}  // namespace

core::Result<std::shared_ptr<ssl_ctx_st>> load_tls(const TlsFiles& files) {
    BELAY_TRY(certificate, core::read_file(files.certificate, kLongestFile));
    BELAY_TRY(key, core::read_file(files.key, kLongestFile));
    const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
        return tls_failure("OpenSSL cannot begin");
    SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context.get(), select_protocol, nullptr);
    BELAY_CHECK(use_certificates(context.get(), certificate, files.certificate));
    BELAY_CHECK(use_key(context.get(), key, files.key));
    return context;
}

core::Result<std::shared_ptr<TlsSource>> TlsSource::open(TlsFiles files) {
    std::shared_ptr<TlsSource> source(new TlsSource(std::move(files)));
    BELAY_CHECK(source->reload());
    return source;
}

std::shared_ptr<ssl_ctx_st> TlsSource::current() const {
    std::lock_guard lock(mutex_);
    return context_;
}

core::Result<> TlsSource::reload() {
    // Taken before: what changes meanwhile is read the next time.
    std::string stamp = stamp_of(files_);
    BELAY_TRY(context, load_tls(files_));
    std::lock_guard lock(mutex_);
    context_ = std::move(context);
    stamp_ = std::move(stamp);
    return {};
}

core::Result<bool> TlsSource::reload_if_changed() {
    const std::string stamp =
        stamp_of(files_);  // not with the lock, which new connections need: it may take its time
    {
        std::lock_guard lock(mutex_);
        if (!stamp.empty() && stamp == stamp_) return false;
    }
    BELAY_CHECK(reload());
    return true;
}

}  // namespace belay::http
