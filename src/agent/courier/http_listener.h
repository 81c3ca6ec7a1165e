// Answers those who scrape the agent, over libmicrohttpd: in a thread of its own, with few connections, each with a
// bound on its head, on what it may send, and on how long it may be silent.
#pragma once

#include "agent/courier/scrape_page.h"
#include "core/error.h"
#include "core/file.h"
#include "core/time.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace belay::agent {

struct HttpLimits {
    unsigned connections = 64;
    unsigned connections_of_one = 32;           // by address
    unsigned silent_seconds = 10;               // then a connection is closed
    size_t head_bytes = size_t{16} << 10;       // request line and headers
    size_t most_body_bytes = size_t{64} << 10;  // of a request whose body is read and thrown away
};

class HttpListener {
  public:
    // Called from the listener's thread, for one request at a time.
    using Answer = std::function<ScrapeAnswer(const ScrapeRequest&)>;

    // Takes connections from `socket`, which listens; ends when it goes out of scope. Errors: kSystem, without the
    // library too.
    static core::Result<HttpListener> start(core::Descriptor socket, Answer answer,
                                            const HttpLimits& limits = {});
    HttpListener(HttpListener&&) noexcept;
    HttpListener& operator=(HttpListener&&) = delete;
    ~HttpListener();

  private:
    struct State;
    explicit HttpListener(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::agent
