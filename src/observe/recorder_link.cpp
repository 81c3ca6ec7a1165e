#include "observe/recorder_link.h"

#include "core/text.h"

#include <cerrno>
#include <sys/socket.h>

namespace belay::observe {

namespace {

// Fits the default socket buffer several times, and a pipe's worth of output in one message.
constexpr size_t kPayloadBytes = size_t{32} << 10;

// However fast a task prints, its recorder comes back to sampling after this many messages.
constexpr int kMessagesAtOnce = 64;

bool is_output(LinkMessage kind) {
    return kind == LinkMessage::kStandardOutput || kind == LinkMessage::kStandardError;
}

}  // namespace

void LinkSender::send(LinkMessage kind, std::string_view payload) {
    if (!socket_) {
        if (is_output(kind)) dropped_ += payload.size();
        return;
    }
    do {
        std::string_view part = payload.substr(0, kPayloadBytes);
        payload.remove_prefix(part.size());
        if (is_output(kind) && backlog_bytes_ + part.size() + kMessageBytes > kBacklogBytes) {
            dropped_ += part.size();
            continue;
        }
        if (dropped_ > 0) {
            enqueue(LinkMessage::kDropped, std::to_string(dropped_));
            dropped_ = 0;
        }
        enqueue(kind, part);
    } while (!payload.empty());
    flush();
}

// A task may write a byte at a time: output that waits grows the message before it.
void LinkSender::enqueue(LinkMessage kind, std::string_view payload) {
    const bool goes_on = is_output(kind) && !backlog_.empty() &&
                         backlog_.back().front() == static_cast<char>(kind) &&
                         backlog_.back().size() + payload.size() <= kPayloadBytes + 1;
    if (!goes_on) {
        backlog_.emplace_back(1, static_cast<char>(kind));
        backlog_bytes_ += kMessageBytes + 1;
    }
    backlog_.back() += payload;
    backlog_bytes_ += payload.size();
}

void LinkSender::flush() {
    while (socket_ && !backlog_.empty()) {
        const std::string& message = backlog_.front();
        if (::send(socket_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return;
            close();  // the recorder is gone; whatever the reason, what is lost by it is counted
            return;
        }
        backlog_bytes_ -= kMessageBytes + message.size();
        backlog_.pop_front();
    }
}

void LinkSender::close() {
    socket_.reset();
    for (const std::string& message : backlog_) dropped_ += message.size() - 1;
    backlog_.clear();
    backlog_bytes_ = 0;
}

void LinkSender::reopen(LinkSender fresh) {
    fresh.dropped_ = dropped_;
    *this = std::move(fresh);
}

LinkReceiver::LinkReceiver(core::Descriptor socket)
    : socket_(std::move(socket)), buffer_(kPayloadBytes + 1, '\0') {}

bool LinkReceiver::receive(const Handler& handler) {
    for (int message = 0; message < kMessagesAtOnce; ++message) {
        ssize_t size = recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (size > 0) {
            handler(static_cast<LinkMessage>(buffer_[0]),
                    std::string_view(buffer_).substr(1, static_cast<size_t>(size) - 1));
        } else if (size == 0 || errno == ECONNRESET) {
            return false;
        } else if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK;  // else it is of no more use: as at its end
        }
    }
    return true;
}

core::Result<Link> make_link() {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return core::errno_error(errno, "cannot create the recorder's socket");
    return Link{LinkSender(core::Descriptor(sockets[0])), LinkReceiver(core::Descriptor(sockets[1]))};
}

std::string encode_exit(const core::ExitStatus& status) {
    return fmt::format("{} {}", status.code, status.signal);
}

std::optional<core::ExitStatus> decode_exit(std::string_view payload) {
    auto words = core::split_words(payload);
    if (words.size() != 2) return std::nullopt;
    auto code = core::parse_number<int>(words[0]);
    auto signal = core::parse_number<int>(words[1]);
    if (!code || !signal) return std::nullopt;
    return core::ExitStatus{.code = *code, .signal = *signal};
}

}  // namespace belay::observe
