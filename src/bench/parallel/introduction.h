// How the ranks of a run make sure that all of them are this user's. c10d and Gloo ask nobody who connects to them, and the port
// follows from facts of the job that everybody can see: so each rank, once they have met, proves to all others that it knows the
// run's secret. That of BELAY_STEP_SECRET, or one that rank 0 makes up and offers in a credential of munge, which only
// processes of the same user can open.
//
//   proof of a rank := HMAC-SHA256 with the secret, of "belay ranks 1", the rank, and a random number of each rank
//
// It keeps a stranger from taking part, not from keeping the ranks from meeting, nor from reading what they send.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "slurm/munge.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belay::bench {

struct Introduction {
    std::string secret = {};              // as it was given; empty: it is offered
    slurm::Credentials credentials = {};  // nothing in it: no proof is asked for
    bool is_wanted() const { return !secret.empty() || credentials.encode; }
};
// From BELAY_STEP_SECRET and munge at its socket.
Introduction introduction_from(const core::Environment& environment);

struct OfferedSecret {
    std::string secret;  // empty where neither was given one nor munge is there: then nothing is proved
    std::string offer;   // for the other ranks; empty where they were given the secret as well
};
// On rank 0. Errors: kSystem, where munge is there and does not answer.
core::Result<OfferedSecret> offer_secret(const Introduction& introduction);
// On the other ranks, of what rank 0 offers; empty as above. Errors: kDenied where it is another user's, or where rank 0 offers
// nothing although munge answers here; kSystem.
core::Result<std::string> secret_from(std::string_view offer, const Introduction& introduction);

using RankProof = std::array<uint64_t, 2>;
RankProof proof_of(std::string_view secret, int rank, std::span<const uint64_t> nonces);
// Errors: kDenied, with the rank whose proof is wrong.
core::Result<> check_proofs(std::string_view secret, std::span<const uint64_t> nonces,
                            std::span<const RankProof> proofs);

}  // namespace belay::bench
