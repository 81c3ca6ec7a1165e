#include "agent/courier/courier_link.h"

#include "core/deadline.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace belay::agent {

namespace {

constexpr size_t kMostWaiting = 1000;

}  // namespace

core::Result<CourierLink> CourierLink::create() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return core::errno_error(errno, "cannot create a pair of sockets");
    return CourierLink{core::Descriptor(ends[0]), core::Descriptor(ends[1])};
}

void CourierEnd::add(Note note) {
    std::lock_guard lock(mutex_);
    if (note.kind == NoteKind::kReadTo) {
        read_to_ = std::move(note);
        return;
    }
    if (notes_.size() >= kMostWaiting) notes_.pop_front();
    notes_.push_back(std::move(note));
}

std::optional<Note> CourierEnd::next() const {
    std::lock_guard lock(mutex_);
    if (!notes_.empty()) return notes_.front();
    return read_to_;
}

void CourierEnd::drop(const Note& sent) {
    std::lock_guard lock(mutex_);
    if (!notes_.empty() && notes_.front() == sent)
        notes_.pop_front();
    else if (read_to_ && *read_to_ == sent)
        read_to_.reset();
}

void CourierEnd::flush() {
    while (auto note = next()) {
        const std::string bytes = encode_note(*note);
        const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return;  // no room, or nobody is there: wait() tells
        drop(*note);
    }
}

bool CourierEnd::wait(core::Duration time) {
    const core::Deadline deadline = core::Deadline::after(time);
    for (;;) {
        flush();
        pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        const int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) return false;  // nothing is ever sent this way: it is the end
        if (ready < 0 && errno != EINTR) return false;
        if (deadline.is_over()) return true;
    }
}

std::vector<Note> SamplerEnd::take() {
    std::vector<Note> notes;
    std::array<char, kMostNoteBytes> buffer;
    // As many as a courier keeps, and no more: it goes on sending while these are read.
    for (size_t i = 0; i < kMostWaiting; ++i) {
        const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) break;
        auto note = decode_note({buffer.data(), static_cast<size_t>(size)});
        if (note) notes.push_back(std::move(*note));
    }
    return notes;
}

void SamplerEnd::say_end() {
    (void)shutdown(socket_.get(), SHUT_WR);
}

}  // namespace belay::agent
