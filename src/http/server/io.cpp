#include "http/server/io.h"

#include "core/log.h"
#include "http/server/stream.h"

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace belay::http {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Where no descriptor is left, one becomes free when a connection ends.
constexpr auto kPauseAfterFailedAccept = std::chrono::milliseconds(100);

}  // namespace

// What the acceptor and the timers do runs in `strand`.
struct Loop::State {
    explicit State(size_t threads)
        : context(static_cast<int>(std::max<size_t>(threads, 1))), strand(asio::make_strand(context)) {}

    struct Repeated {
        asio::steady_timer timer;
        core::Duration interval;
        std::function<void()> function;
    };

    core::Result<Endpoint> open(const Endpoint& endpoint);
    void accept();
    void begin(tcp::socket socket);
    void repeat(Repeated& entry);
    void close();
    void run();

    asio::io_context context;
    asio::strand<asio::io_context::executor_type> strand;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard{
        asio::make_work_guard(context)};
    std::optional<tcp::acceptor> acceptor;
    asio::steady_timer pause{asio::any_io_executor(strand)};
    std::list<Repeated> repeated;
    TlsContext tls;
    OnConnection on_connection;
    bool stopped = false;
    std::once_flag stop_once;
    std::vector<std::jthread> threads;
};

core::Result<Endpoint> Loop::State::open(const Endpoint& endpoint) {
    error_code error;
    const auto address = asio::ip::make_address(endpoint.address, error);
    if (error)
        return core::bad_input("the address to listen on, \"{}\", is not numeric", endpoint.address)
            .hint("for example 127.0.0.1 or ::");
    const tcp::endpoint wanted(address, endpoint.port);
    acceptor.emplace(asio::any_io_executor(strand));
    acceptor->open(wanted.protocol(), error);
    if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.is_v6()) acceptor->set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor->bind(wanted, error);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    tcp::endpoint bound;
    if (!error) bound = acceptor->local_endpoint(error);
    if (error)
        return core::errno_error(error.value(),
                                 fmt::format("cannot listen on {} port {}", endpoint.address, endpoint.port));
    return Endpoint{bound.address().to_string(), bound.port()};
}

void Loop::State::accept() {
    acceptor->async_accept(asio::any_io_executor(asio::make_strand(context)),
                           [this](const error_code& error, tcp::socket socket) {
                               if (stopped) return;
                               if (error == asio::error::connection_aborted || !error) {
                                   if (!error) begin(std::move(socket));
                                   return accept();
                               }
                               core::log_warning("a connection cannot be accepted: {}", error.message());
                               pause.expires_after(kPauseAfterFailedAccept);
                               pause.async_wait([this](const error_code&) {
                                   if (!stopped) accept();
                               });
                           });
}

void Loop::State::begin(tcp::socket socket) {
    try {
        const auto executor = socket.get_executor();
        std::shared_ptr<Stream> stream = make_stream(std::move(socket), tls ? tls() : nullptr);
        asio::post(executor, [this, stream = std::move(stream)] { on_connection(stream); });
    } catch (const std::exception& failure) {
        core::log_warning("a connection cannot be served: {}", failure.what());
    }
}

void Loop::State::repeat(Repeated& entry) {
    if (stopped) return;
    entry.timer.expires_after(entry.interval);
    entry.timer.async_wait([this, &entry](const error_code& error) {
        if (error || stopped) return;
        entry.function();
        repeat(entry);
    });
}

void Loop::State::run() {
    for (;;) {
        try {
            context.run();
            return;
        } catch (const std::exception& failure) {  // the other connections go on
            core::log_error("serving a connection failed: {}", failure.what());
        }
    }
}

Loop::Loop(size_t threads) : state_(std::make_unique<State>(threads)) {
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i)
        state_->threads.emplace_back([this] { state_->run(); });
}

Loop::~Loop() {
    stop_listening();
    join();
}

core::Result<Endpoint> Loop::listen(const Endpoint& endpoint, TlsContext tls, OnConnection on_connection) {
    BELAY_TRY(bound, state_->open(endpoint));
    state_->tls = std::move(tls);
    state_->on_connection = std::move(on_connection);
    asio::post(state_->strand, [state = state_.get()] {
        if (!state->stopped) state->accept();
    });
    return bound;
}

void Loop::every(core::Duration interval, std::function<void()> function) {
    asio::post(state_->strand, [state = state_.get(), interval, function = std::move(function)]() mutable {
        auto& entry = state->repeated.emplace_back(asio::steady_timer(asio::any_io_executor(state->strand)),
                                                   interval, std::move(function));
        state->repeat(entry);
    });
}

void Loop::State::close() {
    stopped = true;
    error_code ignored;
    if (acceptor) acceptor->close(ignored);
    pause.cancel();
    for (Repeated& entry : repeated) entry.timer.cancel();
    guard.reset();  // from here on the threads end with the last connection
}

void Loop::stop_listening() {
    std::call_once(state_->stop_once, [state = state_.get()] {
        std::promise<void> closed;
        asio::post(state->strand, [state, &closed] {
            state->close();
            closed.set_value();
        });
        closed.get_future().wait();
    });
}

void Loop::join() {
    state_->threads.clear();
}

}  // namespace belay::http
