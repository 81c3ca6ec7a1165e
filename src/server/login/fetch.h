// How a provider of identities is asked: a function, so that tests need no network.
#pragma once

#include "core/error.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belay::server {

struct FetchRequest {
    std::string method = "GET";  // or "POST"
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
};
// A status is an answer; errors are what kept an answer from coming.
struct FetchAnswer {
    int status = 0;
    std::string body;
};
// Called from several threads; may block for a bounded time.
using Fetch = std::function<core::Result<FetchAnswer>(const FetchRequest&)>;

// Over the network: core/fetch for GET, metrics/remote for POST, each request within ten seconds or so. Certificates are
// verified, and bodies have 256 KiB at most, of POST 16 KiB (an answer that is longer is an error).
Fetch fetch_from_web();

}  // namespace belay::server
