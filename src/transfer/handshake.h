// How two nodes of a step make sure of each other before anything else is said:
//
//   server → client  challenge   "BLYN", version:u32 (session.h), nonce of the server (32 bytes), offer
//   client → server  proof       rank:u32, nonce of the client (32), HMAC over "member"
//   server → client  welcome     HMAC over "root"
//
// The offer may be empty; otherwise it tells the secret to those who can open it.
//
// Each HMAC is keyed with the secret and covers the protocol's name, its word, the purpose, both nonces and the rank.
// The secret itself is never sent, and an answer is good for this connection only. What follows is not encrypted; each
// message shows that it comes from the other side (session.h).
#pragma once

#include "transfer/session.h"
#include "transfer/socket.h"

#include <functional>
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

// The secret, for a client that does not know it yet, from what the server offers; the offer may be empty.
using SecretOf = std::function<core::Result<std::string>(std::string_view offer, const Deadline& deadline)>;
// For one that knows it.
SecretOf known(std::string secret);

core::Result<std::string> make_nonce();

struct Challenge {
    std::string_view nonce;  // of the server
    std::string_view offer;
};
std::string encode_challenge(std::string_view nonce, std::string_view offer);
// Points into the body. Errors: kSystem where it is none; with a hint where it is of another version.
core::Result<Challenge> decode_challenge(std::string_view body);

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

// The client's side; afterwards the channel is sealed. Errors: kSystem if the peer does not know the secret, or is no
// Belay at all, or one of another version; kDenied where it did not accept the proof; those of `secret_of`.
core::Result<> introduce(Channel& channel, const SecretOf& secret_of, std::string_view purpose, uint32_t rank,
                         Deadline deadline);

}  // namespace belay::transfer
