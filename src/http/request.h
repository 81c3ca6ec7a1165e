// A request as its handler sees it. It lives until the response has been sent.
#pragma once

#include "core/error.h"
#include "http/headers.h"
#include "http/method.h"
#include "http/target.h"
#include "http/task.h"
#include "http/workers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::http {

// Who sends a request, as the server's `authenticate` found out.
struct Identity {
    std::string name;
    std::vector<std::string> roles = {};
};

// Where the pieces of a body come from.
class BodySource {
  public:
    virtual ~BodySource() = default;
    // The next piece, of at most 64 KiB; empty at the end. The next one is read from the network only when it is asked for, which
    // makes the sender wait. Errors: kBadInput for a body that is too long or framed wrongly; because of kTimedOut or kEnded where
    // the sender is too slow or gone. Whatever the handler returns then, the client gets the right status.
    virtual Task<core::Result<std::string>> next() = 0;
};

class Request {
  public:
    using Captures = std::vector<std::pair<std::string, std::string>>;

    Method method = Method::kGet;
    Target target;
    Headers headers;
    std::string peer;  // numeric address
    bool tls = false;
    std::optional<Identity> identity;  // of routes that need one
    std::string body;                  // of routes that take it whole
    Captures captures;                 // what the segments in braces of the route's pattern are

    // The value of "{job}"; empty where the pattern has no such segment.
    std::string_view captured(std::string_view name) const {
        for (const auto& [key, value] : captures)
            if (key == name) return value;
        return {};
    }
    // Of "{job:number}"; 0 where the pattern has no such segment.
    uint64_t captured_number(std::string_view name) const;

    // Of routes that take the body in pieces; see BodySource. One at a time.
    Task<core::Result<std::string>> next_piece() { return source->next(); }
    // auto work = request.run_blocking([] { … }); … co_await work; see workers.h.
    template <typename Function>
    auto run_blocking(Function function) {
        return http::run_blocking(*workers, std::move(function));
    }

    BodySource* source = nullptr;
    Workers* workers = nullptr;
};

}  // namespace belay::http
