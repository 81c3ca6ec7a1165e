// What the supervisor of a task tells its recorder: the task's output as it comes, its start and its end.
// Messages go over a socket pair; the supervisor never waits for the recorder, and the recorder sees the end
// of the supervisor as the end of the socket.
#pragma once

#include "core/file.h"
#include "core/process.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::observe {

enum class LinkMessage : uint8_t {
    kStandardOutput = 1,  // bytes of the task's stdout
    kStandardError = 2,   // bytes of the task's stderr
    kStarted = 3,         // decimal process id of the task
    kEnded = 4,           // "CODE SIGNAL"
    kSystem = 6,          // os-release(5) as the task sees it
    kDropped = 5,         // decimal number of output bytes that the recorder was too slow for
};

// The supervisor's end.
class LinkSender {
  public:
    // Output that the recorder has not taken yet may take this much memory; what comes then is dropped and
    // counted.
    static constexpr size_t kBacklogBytes = size_t{8} << 20;
    // What a message in the backlog takes beside its bytes: a std::string, and its block of the heap.
    static constexpr size_t kMessageBytes = 64;

    LinkSender() = default;
    explicit LinkSender(core::Descriptor socket) : socket_(std::move(socket)) {}

    void send(LinkMessage kind, std::string_view payload);
    // Sends what waits, as far as the socket takes it. Call it when the socket is writable.
    void flush();
    bool has_backlog() const { return !backlog_.empty(); }
    int fd() const { return socket_.get(); }
    // No more messages; the recorder finishes when it has read what was sent.
    void close();
    // Goes on with a new recorder; what the last one did not get counts as dropped.
    void reopen(LinkSender fresh);

  private:
    void enqueue(LinkMessage kind, std::string_view payload);

    core::Descriptor socket_;
    std::deque<std::string> backlog_;
    size_t backlog_bytes_ = 0;  // of memory
    uint64_t dropped_ = 0;      // bytes not yet reported as dropped
};

// The recorder's end.
class LinkReceiver {
  public:
    using Handler = std::function<void(LinkMessage kind, std::string_view payload)>;

    explicit LinkReceiver(core::Descriptor socket);
    // Hands over messages that are there (at most some 2 MiB at once); false once the supervisor is gone and
    // everything was read.
    bool receive(const Handler& handler);
    int fd() const { return socket_.get(); }

  private:
    core::Descriptor socket_;
    std::string buffer_;
};

struct Link {
    LinkSender sender;
    LinkReceiver receiver;
};
// Errors: kSystem.
core::Result<Link> make_link();

std::string encode_exit(const core::ExitStatus& status);
std::optional<core::ExitStatus> decode_exit(std::string_view payload);

}  // namespace belay::observe
