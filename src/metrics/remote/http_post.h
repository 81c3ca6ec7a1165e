// The transport over libcurl, with what core/fetch has for it: POST, one try, no redirects.
#pragma once

#include "core/time.h"
#include "metrics/remote/transport.h"

#include <atomic>
#include <filesystem>
#include <string_view>

namespace belay::metrics::remote {

struct HttpPostOptions {
    // The authorities that are trusted, in PEM, instead of the system's; empty: those, or of $SSL_CERT_FILE.
    std::filesystem::path ca_file = {};
    core::Duration connect_timeout = std::chrono::seconds(10);
    core::Duration timeout =
        std::chrono::seconds(30);  // for all of it; as Prometheus has it (remote_timeout)
    // Set by another thread: a request ends within a second.
    const std::atomic<bool>* stopped = nullptr;
};

// Where metrics may be sent: http or https, and with credentials only https, but on this machine itself. Errors:
// kBadInput.
core::Result<> check_target(std::string_view url, bool with_credentials);

// One request at a time. Connections are kept between requests, certificates are always verified; proxies are taken
// from the environment as curl(1) takes them, but never for this machine itself. Errors: kBadInput of check_target();
// kSystem "cannot reach HOST: …", kUnreachable, kTimedOut or kCancelled where that is why.
Transport http_post(HttpPostOptions options);

}  // namespace belay::metrics::remote
