#include "stage/copy/link.h"

#include "core/units.h"
#include "transfer/message.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace belay::stage {

namespace {

using core::Deadline;
using core::Result;
using core::system_error;

constexpr core::Duration kLook = std::chrono::milliseconds(200);  // for whether it was stopped
constexpr size_t kPacedBytes = size_t{1} << 20;                   // that go out between two looks at the rate
constexpr uint64_t kPacesPerSecond = 4;

}  // namespace

std::string data_purpose(uint16_t port) {
    return fmt::format("copy from port {}", port);
}

CopyLink::CopyLink(transfer::Channel channel, size_t most_body, LinkLimits limits)
    : channel_(std::move(channel)),
      most_body_(most_body),
      limits_(limits),
      pace_(static_cast<double>(limits.rate)),
      heard_(core::system_clock().monotonic()) {}

Result<> CopyLink::send(uint8_t type, std::string_view head, std::string_view body) {
    std::string start;
    transfer::put_u32(start, static_cast<uint32_t>(head.size() + body.size() + 1));
    start += static_cast<char>(type);
    start += head;
    BELAY_CHECK(send_bytes(start));
    return limits_.rate == 0 ? send_bytes(body) : send_paced(body);
}

Result<> CopyLink::send_paced(std::string_view bytes) {
    const size_t most = std::clamp<uint64_t>(limits_.rate / kPacesPerSecond, 1, kPacedBytes);
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, most);
        pace_.wait_for(piece.size());
        BELAY_CHECK(send_bytes(piece));
        bytes.remove_prefix(piece.size());
    }
    return {};
}

Result<> CopyLink::send_bytes(std::string_view bytes) {
    Deadline deadline = Deadline::after(limits_.silence);
    while (!bytes.empty()) {
        if (limits_.stop != nullptr && *limits_.stop)
            return system_error("sending was stopped").because(core::Cause::kCancelled);
        const ssize_t size = ::send(channel_.socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size > 0) {
            bytes.remove_prefix(static_cast<size_t>(size));
            deadline = Deadline::after(limits_.silence);
        } else if (errno == EAGAIN) {
            pollfd entry{channel_.socket(), POLLOUT, 0};
            poll(&entry, 1, deadline.but_within(kLook).poll_milliseconds());
            if (entry.revents == 0 && deadline.is_over())
                return system_error("{} took nothing for {}", transfer::peer_address(channel_.socket()),
                                    core::to_text(limits_.silence))
                    .because(core::Cause::kTimedOut);
        } else if (errno != EINTR) {
            return core::errno_error(errno, "the connection ended");
        }
    }
    return {};
}

Result<bool> CopyLink::fill(char* into, size_t bytes, size_t& filled, Deadline deadline) {
    while (filled < bytes) {
        const ssize_t size = recv(channel_.socket(), into + filled, bytes - filled, 0);
        if (size > 0) {
            filled += static_cast<size_t>(size);
            heard_ = core::system_clock().monotonic();
        } else if (size == 0) {
            return system_error("the other side closed the connection").because(core::Cause::kEnded);
        } else if (errno == EAGAIN) {
            BELAY_TRY(readable, transfer::wait_readable(channel_.socket(), deadline));
            if (!readable) return false;
        } else if (errno != EINTR) {
            return core::errno_error(errno, "the connection ended");
        }
    }
    return true;
}

Result<> CopyLink::begin_body() {
    const size_t length = transfer::BodyReader({header_.data(), sizeof(uint32_t)}).u32();
    if (length == 0 || length - 1 > most_body_) return system_error("a message of {} bytes", length);
    body_.resize(length - 1);
    body_filled_ = 0;
    return {};
}

Result<std::optional<uint8_t>> CopyLink::receive(ChunkBuffer& body, Deadline deadline) {
    if (header_filled_ < kHeaderBytes) {
        BELAY_TRY(whole, fill(header_.data(), kHeaderBytes, header_filled_, deadline));
        if (!whole) return std::optional<uint8_t>();
        BELAY_CHECK(begin_body());
    }
    BELAY_TRY(whole, fill(body_.data(), body_.size(), body_filled_, deadline));
    if (!whole) return std::optional<uint8_t>();
    std::swap(body, body_);
    header_filled_ = 0;
    return std::optional(static_cast<uint8_t>(header_[kHeaderBytes - 1]));
}

}  // namespace belay::stage
