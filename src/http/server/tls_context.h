// The certificate of a server, read again when its files change.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace belay::http {

struct TlsFiles {
    std::filesystem::path
        certificate;            // PEM: the server's own first, then those that lead to a known authority
    std::filesystem::path key;  // PEM, without a password
};

// TLS 1.2 and 1.3, HTTP/1.1 by ALPN. Errors: kSystem for files that cannot be read, kBadInput for what is in them.
core::Result<std::shared_ptr<ssl_ctx_st>> load_tls(const TlsFiles& files);

class TlsSource {
  public:
    // Errors: as load_tls.
    static core::Result<std::shared_ptr<TlsSource>> open(TlsFiles files);

    // For new connections, from any thread; those that are open keep theirs.
    std::shared_ptr<ssl_ctx_st> current() const;
    // Errors: as load_tls; the old certificate stays, and the next call tries again.
    core::Result<> reload();
    // Whether they were other files, and so were read. Errors: the same.
    core::Result<bool> reload_if_changed();

  private:
    explicit TlsSource(TlsFiles files) : files_(std::move(files)) {}

    const TlsFiles files_;
    mutable std::mutex mutex_;
    std::shared_ptr<ssl_ctx_st> context_;
    std::string stamp_;  // by which files are known to be the same
};

}  // namespace belay::http
