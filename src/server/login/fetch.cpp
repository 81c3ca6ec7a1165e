#include "server/login/fetch.h"

#include "core/fetch/http.h"
#include "core/time.h"
#include "core/utf8.h"
#include "metrics/remote/http_post.h"

#include <chrono>
#include <cstddef>

namespace belay::server {

using core::Result;

namespace {

constexpr core::Duration kFetchTime = std::chrono::seconds(10);
constexpr size_t kMostGetBytes = size_t{256} << 10;
constexpr size_t kMostPostBytes = size_t{16} << 10;  // what http_post keeps of an answer

Result<FetchAnswer> get(const FetchRequest& request) {
    core::fetch::HttpClient client({.connect_timeout = kFetchTime / 2,
                                    .stall_timeout = kFetchTime / 2,
                                    .longest_get = kFetchTime,
                                    .tries = 2,
                                    .longest_delay = std::chrono::seconds(1),
                                    .longest_retry_after = std::chrono::seconds(1)},
                                   core::system_clock());
    BELAY_TRY(response, client.get({.url = request.url, .headers = request.headers}, kMostGetBytes));
    return FetchAnswer{.status = response.status, .body = std::move(response.body)};
}

Result<FetchAnswer> post(const FetchRequest& request) {
    // It carries a code, so it is held to the rule for credentials: https, or this machine.
    BELAY_CHECK(metrics::remote::check_target(request.url, true));
    const auto transport =
        metrics::remote::http_post({.connect_timeout = kFetchTime / 2, .timeout = kFetchTime});
    BELAY_TRY(answer, transport({.url = request.url, .headers = request.headers, .body = request.body}));
    if (answer.body.size() >= kMostPostBytes)
        return core::system_error("the answer of {} has more than {} bytes",
                                  core::printable(core::fetch::url_authority(request.url)), kMostPostBytes);
    return FetchAnswer{.status = answer.status, .body = std::move(answer.body)};
}

}  // namespace

Fetch fetch_from_web() {
    return [](const FetchRequest& request) -> Result<FetchAnswer> {
        if (request.method == "GET") return get(request);
        if (request.method == "POST") return post(request);
        return core::bad_input("the method {} is not fetched", request.method);
    };
}

}  // namespace belay::server
