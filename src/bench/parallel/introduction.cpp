#include "bench/parallel/introduction.h"

#include "core/hash.h"
#include "core/new_file.h"

#include <cstring>

namespace belay::bench {

using core::Result;
using core::system_error;

namespace {

constexpr std::string_view kProtocol = "belay ranks 1";
constexpr core::Duration kMungeTime = std::chrono::seconds(10);  // it answers within milliseconds
constexpr std::string_view kHint =
    "start munge on all nodes, or give the run a secret: BELAY_STEP_SECRET=$(openssl rand -hex 16) srun …";

core::Deadline soon() {
    return core::Deadline::after(kMungeTime);
}

void append(std::string& text, uint64_t number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Munge is not there, which nobody else can bring about; that it does not answer may be another's doing.
bool is_missing(const core::Error& error) {
    return error.cause() == core::Cause::kNotFound;
}

}  // namespace

Introduction introduction_from(const core::Environment& environment) {
    auto variable = [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
    return {.secret = variable("BELAY_STEP_SECRET"),
            .credentials = slurm::munge_at(variable("BELAY_MUNGE_SOCKET"))};
}

Result<OfferedSecret> offer_secret(const Introduction& introduction) {
    if (!introduction.secret.empty()) return OfferedSecret{.secret = introduction.secret, .offer = {}};
    if (!introduction.is_wanted()) return OfferedSecret();
    BELAY_TRY(half, core::random_name(""));
    BELAY_TRY(secret, core::random_name(half));  // 128 random bits
    auto offer = introduction.credentials.encode(secret, soon());
    if (offer) return OfferedSecret{.secret = std::move(secret), .offer = std::move(*offer)};
    if (is_missing(offer.error())) return OfferedSecret();
    return std::unexpected(std::move(offer.error()).hint(kHint));
}

Result<std::string> secret_from(std::string_view offer, const Introduction& introduction) {
    if (!introduction.secret.empty()) return introduction.secret;
    if (!introduction.is_wanted()) return std::string();
    if (offer.empty()) {
        // A stranger in the place of rank 0 would offer nothing.
        auto answer = introduction.credentials.encode("", soon());
        if (!answer && is_missing(answer.error())) return std::string();
        if (!answer) return std::unexpected(std::move(answer.error()).hint(kHint));
        return system_error("rank 0 offers no credential of munge, which answers on this node")
            .because(core::Cause::kDenied)
            .hint(kHint);
    }
    auto secret = introduction.credentials.decode(offer, soon());
    if (!secret)
        return std::unexpected(
            std::move(secret.error()).context("the secret that rank 0 offers").hint(kHint));
    return secret;
}

RankProof proof_of(std::string_view secret, int rank, std::span<const uint64_t> nonces) {
    std::string text(kProtocol);
    append(text, static_cast<uint64_t>(rank));
    for (const uint64_t nonce : nonces) append(text, nonce);
    const core::Sha256Digest digest = core::hmac_sha256(secret, text);
    RankProof proof{};
    std::memcpy(proof.data(), core::bytes_of(digest).data(), sizeof proof);
    return proof;
}

Result<> check_proofs(std::string_view secret, std::span<const uint64_t> nonces,
                      std::span<const RankProof> proofs) {
    for (size_t rank = 0; rank < proofs.size(); ++rank)
        if (proofs[rank] != proof_of(secret, static_cast<int>(rank), nonces))
            return system_error(
                       "rank {} does not know the secret of this run: somebody else takes part in it", rank)
                .because(core::Cause::kDenied)
                .hint(
                    "see who has a program on the nodes that connects to the port of rank 0; MASTER_PORT "
                    "chooses "
                    "another port");
    return {};
}

}  // namespace belay::bench
