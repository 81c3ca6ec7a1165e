#include "transfer/handshake.h"

#include "core/hash.h"

#include <cerrno>
#include <sys/random.h>

namespace belay::transfer {

namespace {

using core::bytes_of;
using core::Result;
using core::same_digest;
using core::system_error;

constexpr std::string_view kMagic = "BLYN";

core::Sha256Digest digest_of(std::string_view secret, std::string_view role, std::string_view purpose,
                             std::string_view server_nonce, std::string_view client_nonce, uint32_t rank) {
    // Lengths in front, so that no two different lists give the same bytes.
    std::string text;
    for (std::string_view part : {kProtocolName, role, purpose, server_nonce, client_nonce}) {
        put_u32(text, static_cast<uint32_t>(part.size()));
        text += part;
    }
    put_u32(text, rank);
    return core::hmac_sha256(secret, text);
}

}  // namespace

Result<std::string> make_nonce() {
    std::string nonce(kNonceBytes, '\0');
    if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
        return core::errno_error(errno, "no random numbers");
    return nonce;
}

std::string encode_challenge(std::string_view nonce, std::string_view offer) {
    std::string body(kMagic);
    put_u32(body, kProtocolVersion);
    return body.append(nonce).append(offer);
}

Result<Challenge> decode_challenge(std::string_view body) {
    constexpr std::string_view kHint = "install the same version of Belay on all nodes of the step";
    BodyReader reader(body);
    if (reader.bytes(kMagic.size()) != kMagic)
        return system_error("it is an older version of Belay, or another program").hint(kHint);
    const uint32_t version = reader.u32();
    if (reader.ok() && version != kProtocolVersion)
        return system_error("it speaks version {} of what nodes say to each other, this node version {}",
                            version, kProtocolVersion)
            .hint(kHint);
    const std::string_view nonce = reader.bytes(kNonceBytes);
    if (!reader.ok()) return system_error("a challenge of {} bytes", body.size());
    return Challenge{.nonce = nonce, .offer = reader.rest()};
}

std::string encode_proof(std::string_view secret, std::string_view purpose, std::string_view server_nonce,
                         std::string_view client_nonce, uint32_t rank) {
    std::string body;
    put_u32(body, rank);
    body += client_nonce;
    return body.append(bytes_of(digest_of(secret, "member", purpose, server_nonce, client_nonce, rank)));
}

Result<Proof> check_proof(std::string_view body, std::string_view secret, std::string_view purpose,
                          std::string_view server_nonce) {
    BodyReader reader(body);
    Proof proof{.rank = reader.u32()};
    proof.nonce = reader.bytes(kNonceBytes);
    proof.digest = reader.bytes(std::tuple_size_v<core::Sha256Digest>);
    if (!reader.complete()) return system_error("a proof of {} bytes", body.size());
    if (!same_digest(digest_of(secret, "member", purpose, server_nonce, proof.nonce, proof.rank),
                     proof.digest))
        return system_error("the peer does not know the secret of this step").because(core::Cause::kDenied);
    return proof;
}

std::string encode_welcome(std::string_view secret, std::string_view purpose, std::string_view server_nonce,
                           const Proof& proof) {
    return std::string(bytes_of(digest_of(secret, "root", purpose, server_nonce, proof.nonce, proof.rank)));
}

SecretOf known(std::string secret) {
    return [secret = std::move(secret)](std::string_view, const Deadline&) {
        return Result<std::string>(secret);
    };
}

Result<> introduce(Channel& channel, const SecretOf& secret_of, std::string_view purpose, uint32_t rank,
                   Deadline deadline) {
    std::string peer = peer_address(channel.socket());  // not known any more once it has hung up
    if (peer.empty()) peer = "the other side";
    BELAY_TRY(body, channel.receive(kChallenge, deadline));
    BELAY_TRY(challenge, core::with_context(decode_challenge(body), peer));
    BELAY_TRY(secret, core::with_context(secret_of(challenge.offer, deadline),
                                         fmt::format("the secret of the step from {}", peer)));
    BELAY_TRY(nonce, make_nonce());
    BELAY_CHECK(
        channel.send({kProof, encode_proof(secret, purpose, challenge.nonce, nonce, rank)}, deadline));
    auto answer = channel.receive(kWelcome, deadline);
    if (!answer && answer.error().cause() == core::Cause::kEnded)
        return system_error("{} did not accept this node's proof that it knows the step's secret", peer)
            .because(core::Cause::kDenied);
    BELAY_TRY(welcome, std::move(answer));
    if (!same_digest(digest_of(secret, "root", purpose, challenge.nonce, nonce, rank), welcome))
        return system_error("the peer does not know the secret of this step").because(core::Cause::kDenied);
    channel.seal(Seals(Session({.secret = secret,
                                .purpose = purpose,
                                .server_nonce = challenge.nonce,
                                .client_nonce = nonce,
                                .rank = rank},
                               Side::kClient)));
    return {};
}

}  // namespace belay::transfer
