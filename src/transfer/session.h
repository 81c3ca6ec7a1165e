// What keeps the messages of one connection as they were sent, once both sides have proved themselves (handshake.h).
// Pure.
//
// Each direction and use has a key of its own:
//
//   key  := HKDF-SHA256 of   salt    nonce of the server, nonce of the client
//                            secret  the step's
//                            info    "belay nodes 2", USE, "server" or "client" (who sends), the purpose, each
//                                    behind its length:u32, and rank:u32
//
//   USE  "message"           HMAC-SHA256 of what follows here
//        "copy"              AES-256-GMAC of the data of a copy (stage/copy/link.h)
//
// The body of a message (message.h) then ends with
//
//   mac  := the first 16 bytes of HMAC-SHA256 over number:u64, type:u8, body
//
// where number counts the messages of the direction from 0. So one that was changed, left out, sent again, sent back
// or taken from another connection has a wrong one. Who passes bytes on between the nodes can end the connection, and
// nothing else. What is sent can be read by everybody on the way.
#pragma once

#include "core/error.h"
#include "core/hash.h"
#include "transfer/message.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::transfer {

// Of what nodes say to each other, from the challenge on. Those of another version are told so. 1 was without a number,
// and nothing that followed the handshake was authenticated.
inline constexpr uint32_t kProtocolVersion = 2;
// Begins whatever a secret of a step is mixed with.
inline constexpr std::string_view kProtocolName = "belay nodes 2";

inline constexpr size_t kMacBytes = 16;

enum class Side : uint8_t { kServer, kClient };

// What both sides of an introduced connection have in common, and which of them this one is.
class Session {
  public:
    struct Facts {
        std::string_view secret;
        std::string_view purpose;
        std::string_view server_nonce;
        std::string_view client_nonce;
        uint32_t rank = 0;
    };
    Session(const Facts& facts, Side own);

    core::Sha256Digest key_to_send(std::string_view use) const;
    core::Sha256Digest key_to_receive(std::string_view use) const;

  private:
    core::Sha256Digest key(std::string_view use, Side sender) const;

    core::Sha256Digest extracted_;
    std::string purpose_;
    uint32_t rank_;
    Side own_;
};

// The messages of one connection, each direction in its order.
class Seals {
  public:
    explicit Seals(Session session);

    // The bytes of the next message to send.
    std::string encode(const Message& message);
    // The next one that came, without its MAC. Errors: changed_on_its_way(); there is nothing to be had from the
    // connection any more.
    core::Result<Message> open(Message sealed);

    const Session& session() const { return session_; }

  private:
    Session session_;
    core::Sha256Digest key_to_send_, key_to_receive_;
    uint64_t sent_ = 0, received_ = 0;
};

// kDenied: somebody else takes part.
core::Failure changed_on_its_way();

}  // namespace belay::transfer
