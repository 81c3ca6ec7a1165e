// How two nodes of a step make sure of each other before anything else is said:
//
//   server → client  challenge   nonce of the server (32 bytes)
//   client → server  proof       rank:u32, nonce of the client (32), HMAC over "member"
//   server → client  welcome     HMAC over "root"
//
// Each HMAC is keyed with the secret and covers its word, the purpose, both nonces and the rank.
// The secret itself is never sent, and an answer is good for this connection only. What follows is neither
// encrypted nor signed: who can rewrite packets between the nodes can change it.
#pragma once

#include "transfer/socket.h"

#include <string>
#include <string_view>

namespace belay::transfer {

// Types below 16 are the transport's own.
enum : uint8_t {
    kChallenge = 1,
    kProof = 2,
    kWelcome = 3,
    kClockProbe = 4,
    kClockAnswer = 5,
    kFirstFreeType = 16
};

inline constexpr size_t kNonceBytes = 32;

core::Result<std::string> make_nonce();

struct Proof {
    uint32_t rank = 0;
    std::string nonce = {};
    std::string digest = {};
};
std::string encode_proof(std::string_view secret, std::string_view purpose, std::string_view server_nonce,
                         std::string_view client_nonce, uint32_t rank);
// Errors: kSystem if the body is no proof or its digest is not that of the secret.
core::Result<Proof> check_proof(std::string_view body, std::string_view secret, std::string_view purpose,
                                std::string_view server_nonce);
std::string encode_welcome(std::string_view secret, std::string_view purpose, std::string_view server_nonce,
                           const Proof& proof);

// The client's side. Errors: kSystem if the peer does not know the secret, or is no Belay at all; kDenied
// where it did not accept the proof.
core::Result<> introduce(Channel& channel, std::string_view secret, std::string_view purpose, uint32_t rank,
                         Deadline deadline);

struct Introduced {
    Channel channel;
    uint32_t rank = 0;
};
// The server's side for one connection after the other: strangers are turned away until somebody who knows
// the secret comes. Errors: kSystem; kTimedOut at the deadline.
core::Result<Introduced> accept_introduced(int listener, std::string_view secret, std::string_view purpose,
                                           Deadline deadline);

}  // namespace belay::transfer
