// Messages of any size over one connection that has been introduced (transfer/handshake.h):
//
//   message := length:u32 (big endian, of what follows)  type:u8  body  tag:u8[16]
//   tag     := AES-256-GMAC (core/gmac.h) of the bytes before; the key is the sender's of the session for "copy"
//              (transfer/session.h), the number that of the message in its direction, from 0
//
// So it is as with the messages of transfer: what was changed, left out, sent again or sent back is noticed, at close to
// the speed of memory. A body goes from the socket into the buffer in which it stays, and no call waits longer than it
// was told to.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/gmac.h"
#include "stage/copy/buffer.h"
#include "stage/walk/pace.h"
#include "transfer/socket.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::stage {

struct LinkLimits {
    const std::atomic<bool>* stop = nullptr;            // once it is set, sending ends
    core::Duration silence = std::chrono::seconds(30);  // for which the other side may take nothing
    uint64_t rate = 0;  // bytes a second at most to the other side; 0: no limit
};

class CopyLink {
  public:
    // Nothing is sent or received over a channel that is not sealed.
    CopyLink(transfer::Channel channel, size_t most_body, LinkLimits limits);

    // A message whose body is `head` and `body`. Errors: kTimedOut where the other side takes nothing,
    // kCancelled once stopped, kSystem where the connection ended, kDenied as below.
    core::Result<> send(uint8_t type, std::string_view head = {}, std::string_view body = {});

    // The type of the next message, whose body is then in `body`, and whose earlier memory the one after it
    // will use; nothing where none is there at the deadline. Errors: kEnded where the other side has closed
    // it; kDenied from the first message on that was changed on its way: somebody else takes part; kSystem, also
    // for a body over the limit.
    core::Result<std::optional<uint8_t>> receive(ChunkBuffer& body, core::Deadline deadline);
    // A body may now be as long as this.
    void set_limit(size_t most_body) { most_body_ = most_body; }

    // Since anything came last.
    core::Duration idle() const { return core::system_clock().monotonic() - heard_; }

  private:
    static constexpr size_t kHeaderBytes = 5;

    // One direction.
    struct Seal {
        core::Gmac gmac;
        uint64_t number = 0;  // of the next message
    };

    core::Result<> usable() const;
    core::Result<> send_bytes(std::string_view bytes);
    core::Result<> send_sealed(std::string_view bytes);
    // What comes is added to `gmac`, where there is one. False where not all of it came before the deadline.
    core::Result<bool> fill(char* into, size_t bytes, size_t& filled, core::Gmac* gmac,
                            core::Deadline deadline);
    core::Result<> begin_body();
    core::Result<> check_tag();

    transfer::Channel channel_;
    std::optional<Seal> outgoing_, incoming_;
    std::optional<core::Error> denied_;  // why nothing more is believed
    size_t most_body_;
    LinkLimits limits_;
    Pace pace_;
    core::Duration heard_;
    std::array<char, kHeaderBytes> header_{};
    size_t header_filled_ = 0;
    ChunkBuffer body_;  // of the message that is coming
    size_t body_filled_ = 0;
    core::Gmac::Tag tag_{};
    size_t tag_filled_ = 0;
};

// What a node proves itself for to one that listens for those who take the copy from it: as
// transfer::step_purpose().
std::string data_purpose(uint16_t port);

}  // namespace belay::stage
