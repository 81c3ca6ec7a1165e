// An HTTP client over libcurl: requests that are tried again while that makes sense, and downloads that go on
// where they broke off.
//
//   HttpClient client({}, system_clock());
//   BELAY_TRY(response, client.get({.url = "https://registry/v2/"}, 1 << 20));
//   if (response.status != 200) ...
//
// A status is an answer, not an error: errors are what kept an answer from coming. Tried again are failed
// connections, connections that broke or stalled, and the statuses 408, 429, 500, 502, 503 and 504, after
// what Retry-After says or an exponential delay with jitter. Redirects are followed, from https only to
// https; Authorization goes to the first host only (libcurl sees to it for the same host, port and scheme).
// Certificates are always verified. Proxies are taken from the environment as curl(1) takes them, but never
// for this machine itself.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core::fetch {

struct HttpRequest {
    std::string url;  // http or https
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string authorization = {};  // value of the header; empty: none
};

struct HttpResponse {
    int status = 0;
    std::map<std::string, std::vector<std::string>> headers;  // names in lower case; of the last response
    std::string url;                                          // after redirects
    std::string body;  // of a download only if the status is no success: the beginning of it

    bool success() const { return status >= 200 && status < 300; }
    // The first value, or an empty one.
    std::string_view header(const std::string& lower_case_name) const;
};

// Where a download goes.
class DownloadSink {
  public:
    virtual ~DownloadSink() = default;
    // How many bytes it has; the download goes on behind them.
    virtual uint64_t position() const = 0;
    // The server can only send all of it again.
    virtual Result<> restart() = 0;
    virtual Result<> write(std::string_view bytes) = 0;
};

struct HttpOptions {
    Duration connect_timeout = std::chrono::seconds(20);
    Duration stall_timeout = std::chrono::seconds(30);  // without a single byte
    Duration longest_get = std::chrono::minutes(10);    // with all its tries and delays
    // A download that brings less in that time is broken off, and tried again as one that brought nothing.
    uint64_t least_bytes_per_second = 1000;
    Duration slow_time = std::chrono::minutes(5);
    int tries = 5;                                   // without a byte more than ever before
    Duration first_delay = std::chrono::seconds(1);  // doubled with each try
    Duration longest_delay = std::chrono::seconds(30);
    Duration longest_retry_after = std::chrono::minutes(5);  // a server that asks for more is given up
    // Set by another thread: transfers end within a second, no delay is waited for.
    const std::atomic<bool>* stopped = nullptr;
    // Called once by each client, before its first new try: "cannot reach HOST: …", "HOST answers 503". From
    // the client's thread.
    std::function<void(const std::string& why)> on_first_retry = {};
    std::string user_agent = "belay";
    uint32_t seed = std::random_device{}();  // of the jitter
};

// One request at a time; each thread has its own client. Connections are kept between requests.
class HttpClient {
  public:
    HttpClient(HttpOptions options, Clock& clock);
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) = delete;
    ~HttpClient();

    // Errors: kSystem "cannot reach HOST: …" when the last try failed, kUnreachable or kTimedOut where the
    // network failed, kOther where TLS did; kSystem for a body of more than `body_limit`.
    Result<HttpResponse> get(const HttpRequest& request, size_t body_limit);

    // Fills the sink up. A success with status 200 or 206 is complete as far as its length was announced; any
    // other status left the sink as it was. Errors: kSystem as of get(), and those of the sink.
    Result<HttpResponse> download(const HttpRequest& request, DownloadSink& sink);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Statuses after which the same request may succeed later.
bool worth_another_try(int status);

// The delay before try `next_try` (2 is the second): Retry-After in seconds or as a date, else first_delay
// doubled each time, times `jitter` (0.5 to 1.5), at most longest_delay. Nothing if the server asks for too
// long.
std::optional<Duration> retry_delay(const HttpOptions& options, int next_try, std::string_view retry_after,
                                    double jitter, Time now);

// "registry.example.org:5000" of a URL, for messages and to compare hosts; empty for what is not a URL.
std::string url_authority(std::string_view url);
// "https"; empty for what is not a URL.
std::string url_scheme(std::string_view url);
// Whether a host (with or without port) is this machine: localhost, 127.0.0.0/8, ::1.
bool is_loopback(std::string_view authority);
// With everything but letters, digits and "-._~" as %XX.
std::string url_encode(std::string_view text);

}  // namespace belay::core::fetch
