// Sockets, timers and threads: all that is Boost.Asio and Boost.Beast is behind this header, in io.cpp and stream.cpp.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "http/task.h"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

namespace belay::http {

enum class IoEnd : uint8_t {
    kNone,      // it went well
    kClosed,    // the other side ended the connection
    kTimedOut,  // and the connection was closed for that
    kFailed,    // it broke, or was closed from this side
};

struct IoResult {
    size_t bytes = 0;
    IoEnd end = IoEnd::kNone;
    bool ok() const { return end == IoEnd::kNone; }
};
using OnIo = std::function<void(IoResult)>;

// One connection, plain or TLS. Everything but scheduler() is called where its scheduler runs, and so is what is given as `on_end`,
// later and once. One read, one write and one pause at a time.
class Stream {
  public:
    virtual ~Stream() = default;
    // Of TLS; nothing to be done for a plain one.
    virtual void handshake(core::Duration longest, OnIo on_end) = 0;
    virtual void read_some(char* into, size_t size, core::Duration longest, OnIo on_end) = 0;
    // All of the bytes, which must live until then.
    virtual void write(std::string_view bytes, core::Duration longest, OnIo on_end) = 0;
    // Tells the other side that nothing more comes (close_notify, FIN); it may still send.
    virtual void finish_writing(core::Duration longest, OnIo on_end) = 0;
    // Ends at the latest after that time, and earlier by stop_pause(): kNone both ways.
    virtual void pause(core::Duration longest, OnIo on_end) = 0;
    virtual void stop_pause() = 0;
    // What is waited for ends with kFailed.
    virtual void close() = 0;
    virtual bool is_tls() const = 0;
    virtual const std::string& peer() const = 0;  // numeric address
    virtual std::shared_ptr<Scheduler> scheduler() const = 0;
};

// Awaits one of those, within a Task: co_await IoWait([&](OnIo on_end) { stream.read_some(…, std::move(on_end)); })
class IoWait {
  public:
    explicit IoWait(std::function<void(OnIo)> begin) : begin_(std::move(begin)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> task) {
        begin_([this, task](IoResult result) {
            result_ = result;
            task.resume();
        });
    }
    IoResult await_resume() const { return result_; }

  private:
    std::function<void(OnIo)> begin_;
    IoResult result_;
};

struct Endpoint {
    std::string address;  // numeric, of IPv4 or IPv6; "::" takes both
    uint16_t port = 0;    // 0: any that is free
};

// What the threads do: they accept connections and run what these wait for.
class Loop {
  public:
    explicit Loop(size_t threads);
    // Ends when all connections have; see join().
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // Called for every connection, where its scheduler runs.
    using OnConnection = std::function<void(std::shared_ptr<Stream>)>;
    // The context for new connections; null for plain ones.
    using TlsContext = std::function<std::shared_ptr<ssl_ctx_st>()>;
    // Returns where it listens. Once. Errors: kBadInput for an address that is not numeric, kSystem.
    core::Result<Endpoint> listen(const Endpoint& endpoint, TlsContext tls, OnConnection on_connection);
    // Calls the function from one of the threads, again and again until listening ends.
    void every(core::Duration interval, std::function<void()> function);
    // Takes no more connections, and ends every(); both has happened when it returns. Not from one of the threads.
    void stop_listening();
    // Waits until nothing is left to do, which needs stop_listening() and the end of all connections.
    void join();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace belay::http
