#include "http/server/stream.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <openssl/ssl.h>
#include <type_traits>
#include <utility>

namespace belay::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

constexpr core::Duration kLongestWait = std::chrono::hours(24);  // no time point overflows

class StrandScheduler : public Scheduler {
  public:
    explicit StrandScheduler(const asio::any_io_executor& executor) : executor_(executor) {}
    void post(std::function<void()> step) override { asio::post(executor_.get_executor(), std::move(step)); }

  private:
    // The threads must not end while a connection waits for something else than a socket, such as a worker.
    asio::executor_work_guard<asio::any_io_executor> executor_;
};

IoEnd end_of(const error_code& error) {
    if (!error) return IoEnd::kNone;
    if (error == beast::error::timeout) return IoEnd::kTimedOut;
    // Many clients end TLS without close_notify; where a body ends is said by its framing, so that nothing is lost by that.
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) return IoEnd::kClosed;
    return IoEnd::kFailed;
}

std::string address_of(const asio::ip::tcp::socket& socket) {
    error_code error;
    const auto endpoint = socket.remote_endpoint(error);
    if (error) return {};
    const asio::ip::address address = endpoint.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    return address.to_string();
}

// asio::ssl::context frees what it is given.
SSL_CTX* shared(SSL_CTX* context) {
    SSL_CTX_up_ref(context);
    return context;
}

template <typename Socket>  // beast::tcp_stream or TlsStream
class BeastStream : public Stream {
  public:
    static constexpr bool kTls = std::is_same_v<Socket, TlsStream>;

    explicit BeastStream(asio::ip::tcp::socket socket)
        requires(!kTls)
        : peer_(address_of(socket)), socket_(std::move(socket)), pause_(socket_.get_executor()) {
        set_up();
    }
    BeastStream(asio::ip::tcp::socket socket, const std::shared_ptr<SSL_CTX>& tls)
        requires kTls
        : peer_(address_of(socket)),
          context_(shared(tls.get())),
          socket_(std::move(socket), context_),
          pause_(socket_.get_executor()) {
        set_up();
    }

    void handshake(core::Duration longest, OnIo on_end) override {
        if constexpr (kTls) {
            allow(longest);
            socket_.async_handshake(asio::ssl::stream_base::server, without_bytes(std::move(on_end)));
        } else {
            asio::post(tcp().get_executor(), [on_end = std::move(on_end)] { on_end({}); });
        }
    }
    void read_some(char* into, size_t size, core::Duration longest, OnIo on_end) override {
        allow(longest);
        socket_.async_read_some(asio::buffer(into, size), with_bytes(std::move(on_end)));
    }
    void write(std::string_view bytes, core::Duration longest, OnIo on_end) override {
        allow(longest);
        asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), with_bytes(std::move(on_end)));
    }
    void finish_writing(core::Duration longest, OnIo on_end) override {
        if constexpr (kTls) {
            allow(longest);
            // Also waits for the other side's close_notify.
            socket_.async_shutdown(without_bytes(std::move(on_end)));
        } else {
            error_code error;
            tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
            asio::post(tcp().get_executor(),
                       [on_end = std::move(on_end), error] { on_end({0, end_of(error)}); });
        }
    }
    void pause(core::Duration longest, OnIo on_end) override {
        pause_.expires_after(std::min(longest, kLongestWait));
        pause_.async_wait([on_end = std::move(on_end)](const error_code&) { on_end({}); });
    }
    void stop_pause() override { pause_.cancel(); }
    void close() override {
        tcp().close();
        pause_.cancel();
    }
    bool is_tls() const override { return kTls; }
    const std::string& peer() const override { return peer_; }
    std::shared_ptr<Scheduler> scheduler() const override { return scheduler_; }

  private:
    struct NoContext {};

    void set_up() {
        scheduler_ = std::make_shared<StrandScheduler>(socket_.get_executor());
        error_code ignored;
        tcp().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    beast::tcp_stream& tcp() {
        if constexpr (kTls)
            return socket_.next_layer();
        else
            return socket_;
    }
    void allow(core::Duration longest) { tcp().expires_after(std::min(longest, kLongestWait)); }
    static auto with_bytes(OnIo on_end) {
        return [on_end = std::move(on_end)](const error_code& error, size_t bytes) {
            on_end({bytes, end_of(error)});
        };
    }
    static auto without_bytes(OnIo on_end) {
        return [on_end = std::move(on_end)](const error_code& error) { on_end({0, end_of(error)}); };
    }

    std::string peer_;
    std::conditional_t<kTls, asio::ssl::context, NoContext> context_;
    Socket socket_;
    asio::steady_timer pause_;
    std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace

std::shared_ptr<Stream> make_stream(asio::ip::tcp::socket socket, std::shared_ptr<ssl_ctx_st> tls) {
    if (!tls) return std::make_shared<BeastStream<beast::tcp_stream>>(std::move(socket));
    return std::make_shared<BeastStream<TlsStream>>(std::move(socket), tls);
}

}  // namespace belay::http
