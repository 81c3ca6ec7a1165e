#include "http/server/server.h"

#include "core/log.h"
#include "core/text.h"
#include "http/gate.h"
#include "http/server/connection.h"
#include "http/server/io.h"
#include "http/server/service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace belay::http {

namespace {

constexpr core::Duration kLongestGrace = std::chrono::hours(24);

std::vector<RouteMetrics> counted_routes(const Router& router) {
    std::vector<RouteMetrics> rows;
    for (const Route& route : router.routes())
        rows.push_back({.method = std::string(method_name(route.method)), .pattern = route.pattern});
    rows.emplace_back();
    return rows;
}

core::Result<> check_options(const Options& options, const Router& router) {
    if (options.hosts.empty())
        return core::bad_input("the server has no name that it answers to")
            .hint("name those of its addresses in `hosts`");
    for (const std::string& host : options.hosts)
        if (host_name_of(host.find(':') == std::string::npos ? host : "[" + host + "]") != host)
            return core::bad_input("\"{}\" is not the name of a host in lower case, without a port", host);
    const bool needs_identity = std::ranges::any_of(router.routes(), &Route::needs_identity);
    if (needs_identity && !options.authenticate)
        return core::bad_input("some routes need an identity, but nothing says how it is found out");
    const Limits& limits = options.limits;
    for (const core::Duration timeout :
         {limits.idle_timeout, limits.header_timeout, limits.body_timeout, limits.write_timeout,
          limits.heartbeat_interval, options.tls_check_interval})
        if (timeout <= core::Duration::zero())
            return core::bad_input("a timeout of the server is not positive");
    if (limits.connections == 0 || limits.connections_per_peer == 0 || limits.header_bytes == 0)
        return core::bad_input("a limit of the server is 0, so that it could serve nobody");
    return {};
}

}  // namespace

struct Server::State {
    State(Options options, Router router, std::vector<RouteMetrics> counted)
        : service(std::move(options), std::move(router), std::move(counted)),
          loop(std::make_unique<Loop>(service.options.threads)) {}

    core::Result<> listen();
    void watch_certificate();
    void take(const std::shared_ptr<Stream>& stream);
    void remove(const Connection* connection, const std::string& group);
    bool stop(core::Duration grace);
    // With every connection, where its scheduler runs.
    void tell_all(void (Connection::*what)());

    Service service;
    std::shared_ptr<TlsSource> tls;
    Endpoint endpoint;
    std::mutex mutex;
    std::condition_variable one_ended;
    std::map<const Connection*, std::shared_ptr<Connection>> connections;
    std::map<std::string, size_t> connections_of;  // a group of peers
    std::unique_ptr<Loop> loop;                    // goes first: connections end in its threads
};

core::Result<> Server::State::listen() {
    const Options& options = service.options;
    if (options.tls) {
        BELAY_TRY(source, TlsSource::open(*options.tls));
        tls = std::move(source);
    }
    Loop::TlsContext context;
    if (tls) context = [source = tls] { return source->current(); };
    BELAY_TRY(bound, loop->listen({options.address, options.port}, std::move(context),
                                  [this](const std::shared_ptr<Stream>& stream) { take(stream); }));
    endpoint = std::move(bound);
    if (tls) watch_certificate();
    return {};
}

void Server::State::watch_certificate() {
    // One at a time: a file system that does not answer must not take all workers.
    auto looking = std::make_shared<std::atomic<bool>>(false);
    loop->every(service.options.tls_check_interval, [this, looking] {
        if (looking->exchange(true)) return;
        service.workers.post([source = tls, looking] {
            const auto reloaded = source->reload_if_changed();
            if (!reloaded)
                core::log_warning("the old certificate is still used: {}", reloaded.error().headline());
            if (reloaded && *reloaded) core::log_info("the certificate was read again");
            *looking = false;
        });
    });
}

void Server::State::take(const std::shared_ptr<Stream>& stream) {
    ++service.meters.connections;
    std::string group = peer_group(stream->peer());
    std::shared_ptr<Connection> connection;
    {
        std::lock_guard lock(mutex);
        const Limits& limits = service.options.limits;
        const auto of_peer = connections_of.find(group);
        const bool peer_has_all =
            of_peer != connections_of.end() && of_peer->second >= limits.connections_per_peer;
        if (service.stopping || connections.size() >= limits.connections || peer_has_all) {
            ++service.meters.refused;
            stream->close();
            return;
        }
        connection = std::make_shared<Connection>(service, stream);
        connections.emplace(connection.get(), connection);
        ++connections_of[group];
    }
    connection->start([this, key = connection.get(), group = std::move(group)] { remove(key, group); });
}

void Server::State::remove(const Connection* connection, const std::string& group) {
    std::shared_ptr<Connection> ended;  // destroyed without the lock
    std::lock_guard lock(mutex);
    const auto found = connections.find(connection);
    ended = std::move(found->second);
    connections.erase(found);
    if (const auto count = connections_of.find(group); --count->second == 0) connections_of.erase(count);
    one_ended.notify_all();
}

void Server::State::tell_all(void (Connection::*what)()) {
    std::lock_guard lock(mutex);
    for (const auto& [key, connection] : connections)
        connection->scheduler()->post([connection = connection, what] { (connection.get()->*what)(); });
}

bool Server::State::stop(core::Duration grace) {
    {
        std::lock_guard lock(mutex);
        service.stopping = true;
    }
    loop->stop_listening();
    tell_all(&Connection::finish);
    bool all_ended = false;
    {
        std::unique_lock lock(mutex);
        all_ended =
            one_ended.wait_for(lock, std::min(grace, kLongestGrace), [this] { return connections.empty(); });
    }
    if (!all_ended) tell_all(&Connection::cut);
    return all_ended;
}

core::Result<Server> Server::start(Options options, Router router) {
    BELAY_CHECK(check_options(options, router));
    for (std::string& origin : options.origins) origin = core::lower_case(origin);
    auto counted = counted_routes(router);
    auto state = std::make_unique<State>(std::move(options), std::move(router), std::move(counted));
    BELAY_CHECK(state->listen());
    return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;
Server::~Server() {
    if (state_) state_->stop(core::Duration::zero());
}

const std::string& Server::address() const {
    return state_->endpoint.address;
}
uint16_t Server::port() const {
    return state_->endpoint.port;
}
Metrics Server::metrics() const {
    Metrics metrics = state_->service.meters.read();
    metrics.waiting_jobs = state_->service.workers.waiting();
    return metrics;
}
Workers& Server::workers() {
    return state_->service.workers;
}
core::Result<> Server::reload_certificate() {
    if (!state_->tls) return core::bad_input("the server speaks without TLS");
    return state_->tls->reload();
}
bool Server::stop(core::Duration grace) {
    return state_->stop(grace);
}

}  // namespace belay::http
