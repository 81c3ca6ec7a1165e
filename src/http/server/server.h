// An HTTP/1.1 server.
//
//   Options options{.hosts = {"node1.example.org"}, .threads = 2};
//   BELAY_TRY(router, Router::create(routes()));
//   BELAY_TRY(server, Server::start(std::move(options), std::move(router)));
//   …
//   server.stop(std::chrono::seconds(10));
//
// Each connection is served by one thread at a time, one request after the other: what a client sends ahead waits in the
// network. Handlers are called from these threads and must not block; see Request::run_blocking.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "http/metrics.h"
#include "http/router.h"
#include "http/server/tls_context.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::http {

struct Limits {
    size_t header_bytes = size_t{16} << 10;
    size_t connections = 1024;
    size_t connections_per_peer = 128;                       // an IPv4 address, or a /64 network of IPv6
    core::Duration idle_timeout = std::chrono::seconds(60);  // between two requests
    core::Duration header_timeout =
        std::chrono::seconds(10);                            // for a whole head, and for the handshake of TLS
    core::Duration body_timeout = std::chrono::seconds(20);  // without the bytes that the next line asks for
    core::Duration write_timeout = std::chrono::seconds(20);       // the same for a response
    uint64_t least_bytes_per_second = 1000;                        // on average; pace.h
    core::Duration heartbeat_interval = std::chrono::seconds(15);  // between events
};

// One request in the log. No query and no credentials are in it.
struct AccessRecord {
    core::Time time = {};  // of its head
    std::string peer;
    std::string user;     // empty without identity
    std::string method;   // empty for what could not be understood
    std::string path;     // as it was sent, ASCII, without the query
    std::string pattern;  // of the route; empty without
    int status = 0;
    uint64_t received_bytes = 0;  // of the body
    uint64_t sent_bytes = 0;      // head and body
    core::Duration took = {};
    bool whole = false;  // the response was sent to its end
    bool tls = false;
};

// Who sends the request. Errors: mostly 401 or 403. Called from several threads; must not block.
using Authenticate = std::function<Task<Checked<Identity>>(const Request&)>;

struct Options {
    std::string address = "127.0.0.1";                             // numeric; "::" for all
    uint16_t port = 0;                                             // 0: any that is free
    std::optional<TlsFiles> tls = {};                              // plain without
    core::Duration tls_check_interval = std::chrono::seconds(60);  // how often those files are looked at
    std::vector<std::string> hosts;  // the names by which it is known, without ports
    std::vector<std::string> origins =
        {};  // of other sites whose pages may change something: "https://ui.example.org"
    Limits limits = {};
    size_t threads = 1;  // that serve connections
    size_t worker_threads = 4;
    size_t most_waiting_jobs = 64;  // for a worker
    Authenticate authenticate = {};
    std::function<void(const AccessRecord&)> access_log = {};  // called from several threads; must not block
};

class Server {
  public:
    // Errors: kBadInput for options that contradict each other or the routes, kSystem where it cannot listen.
    static core::Result<Server> start(Options options, Router router);
    Server(Server&&) noexcept;
    Server& operator=(Server&&) = delete;
    // stop() without a grace, and then until all handlers and workers have ended.
    ~Server();

    const std::string& address() const;
    uint16_t port() const;
    Metrics metrics() const;
    Workers& workers();
    // Reads certificate and key now. Errors: as load_tls.
    core::Result<> reload_certificate();
    // Takes no more connections and ends those that wait for a request; events end. Requests in hand are finished until the
    // grace is over, then their connections are cut. Whether all were finished in time. Not from a handler, which it would wait for.
    bool stop(core::Duration grace);

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::http
