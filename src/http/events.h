// Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

struct Event {
    std::string data;                          // any number of lines; what is not UTF-8 is replaced by U+FFFD
    std::string event = {};                    // its type; empty: "message"
    std::string id = {};                       // what a browser sends as Last-Event-ID when it connects again
    std::optional<core::Duration> retry = {};  // after what time it does so
};

// As it is sent, with the empty line. Errors: kBadInput for a type or an id with a line's end or a NUL.
core::Result<std::string> encode_event(const Event& event);

// A comment, by which both ends learn that the connection is still there.
inline constexpr std::string_view kHeartbeat = ":\n\n";

// Between those who have events and the connection of one reader. Any thread may use it. A reader that does not keep up is
// dropped: it connects again, and says which event it had last.
class EventQueue {
  public:
    static constexpr size_t kMostBytes = size_t{1} << 20;
    // `most_bytes`: of what waits to be sent.
    explicit EventQueue(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

    // Errors: kBadInput as encode_event; kEnded where the reader has gone or the queue was closed; kNoSpace where the reader
    // was too slow, which ends the queue.
    core::Result<> push(const Event& event);
    // What was pushed is still sent.
    void close();
    // Whether somebody may still read what is pushed.
    bool is_open() const;
    bool is_too_slow() const;

    // For the connection.
    struct Taken {
        std::string bytes;
        bool ended = false;     // nothing comes after `bytes`
        bool too_slow = false;  // the connection is to be cut
    };
    Taken take();
    // `wake` is called after a push or close, from that thread, which holds the queue meanwhile; an empty one ends that, and the queue.
    void set_reader(std::function<void()> wake);

  private:
    void wake();

    const size_t most_bytes_;
    mutable std::mutex mutex_;
    std::string waiting_;
    bool closed_ = false;
    bool too_slow_ = false;
    std::function<void()> wake_;
};

}  // namespace belay::http
