#include "stage/copy/link.h"

#include "core/units.h"
#include "stage/copy/pacing.h"
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
// That are sealed and sent at a time: they are still in the processor's cache when the kernel copies them.
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr std::string_view kUseForCopy = "copy";  // of keys

}  // namespace

std::string data_purpose(uint16_t port) {
    return fmt::format("copy from port {}", port);
}

CopyLink::CopyLink(transfer::Channel channel, size_t most_body, LinkLimits limits)
    : channel_(std::move(channel)),
      most_body_(most_body),
      limits_(limits),
      pace_(static_cast<double>(limits.rate)),
      heard_(core::system_clock().monotonic()) {
    const transfer::Session* session = channel_.session();
    if (session == nullptr) return;
    outgoing_.emplace(core::Gmac(session->key_to_send(kUseForCopy)));
    incoming_.emplace(core::Gmac(session->key_to_receive(kUseForCopy)));
}

Result<> CopyLink::usable() const {
    if (denied_) return std::unexpected(*denied_);
    if (!outgoing_) return system_error("the other side has not been introduced");
    return {};
}

Result<> CopyLink::send(uint8_t type, std::string_view head, std::string_view body) {
    BELAY_CHECK(usable());
    std::string start;
    transfer::put_u32(start,
                      static_cast<uint32_t>(sizeof type + head.size() + body.size() + core::Gmac::kTagBytes));
    start += static_cast<char>(type);
    start += head;
    outgoing_->gmac.begin(outgoing_->number++);
    outgoing_->gmac.update(start);
    if (!body.empty()) BELAY_CHECK(send_bytes(std::exchange(start, {})));
    BELAY_CHECK(send_sealed(body));
    const core::Gmac::Tag tag = outgoing_->gmac.finish();
    return send_bytes(start.append(tag.data(), tag.size()));
}

Result<> CopyLink::send_sealed(std::string_view bytes) {
    const size_t most = paced_bytes(limits_.rate, kPieceBytes);
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, most);
        outgoing_->gmac.update(piece);
        if (limits_.rate != 0) pace_.wait_for(piece.size());
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

Result<bool> CopyLink::fill(char* into, size_t bytes, size_t& filled, core::Gmac* gmac, Deadline deadline) {
    while (filled < bytes) {
        const ssize_t size = recv(channel_.socket(), into + filled, std::min(bytes - filled, kPieceBytes), 0);
        if (size > 0) {
            if (gmac != nullptr) gmac->update({into + filled, static_cast<size_t>(size)});
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
    constexpr size_t kAround = sizeof(uint8_t) + core::Gmac::kTagBytes;  // type and tag
    const size_t length = transfer::BodyReader({header_.data(), sizeof(uint32_t)}).u32();
    if (length < kAround || length - kAround > most_body_)
        return system_error("invalid message of {} bytes", length);
    body_.resize(length - kAround);
    body_filled_ = tag_filled_ = 0;
    return {};
}

Result<> CopyLink::check_tag() {
    ++incoming_->number;
    if (incoming_->gmac.finishes_as({tag_.data(), tag_.size()})) return {};
    denied_ = transfer::changed_on_its_way().error().context(
        fmt::format("receiving from {}", transfer::peer_address(channel_.socket())));
    shutdown(channel_.socket(), SHUT_RDWR);  // the other side hears of it
    return std::unexpected(*denied_);
}

Result<std::optional<uint8_t>> CopyLink::receive(ChunkBuffer& body, Deadline deadline) {
    BELAY_CHECK(usable());
    core::Gmac& gmac = incoming_->gmac;
    if (header_filled_ < kHeaderBytes) {
        if (header_filled_ == 0) gmac.begin(incoming_->number);
        BELAY_TRY(whole, fill(header_.data(), kHeaderBytes, header_filled_, &gmac, deadline));
        if (!whole) return std::optional<uint8_t>();
        BELAY_CHECK(begin_body());
    }
    BELAY_TRY(has_body, fill(body_.data(), body_.size(), body_filled_, &gmac, deadline));
    if (!has_body) return std::optional<uint8_t>();
    BELAY_TRY(has_tag, fill(tag_.data(), tag_.size(), tag_filled_, nullptr, deadline));
    if (!has_tag) return std::optional<uint8_t>();
    BELAY_CHECK(check_tag());
    std::swap(body, body_);
    header_filled_ = 0;
    return std::optional(static_cast<uint8_t>(header_[kHeaderBytes - 1]));
}

}  // namespace belay::stage
