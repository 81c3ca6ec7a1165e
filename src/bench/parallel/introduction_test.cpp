#include "bench/parallel/introduction.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using core::Deadline;
using core::Result;
using testing::HasSubstr;

// Credentials that open for one user.
slurm::Credentials munge_of(const std::string& user) {
    return {.encode = [user](std::string_view text, const Deadline&) -> Result<std::string> {
                return fmt::format("{}:{}", user, text);
            },
            .decode = [user](std::string_view credential, const Deadline&) -> Result<std::string> {
                if (!credential.starts_with(user + ":"))
                    return core::system_error("another user encoded it").because(core::Cause::kDenied);
                return std::string(credential.substr(user.size() + 1));
            }};
}

slurm::Credentials without_munge() {
    auto missing = [](std::string_view, const Deadline&) -> Result<std::string> {
        return core::system_error("munge is not there").because(core::Cause::kNotFound);
    };
    return {.encode = missing, .decode = missing};
}

TEST(bench, a_secret_is_offered_to_processes_of_the_same_user) {
    const Introduction mine{.secret = {}, .credentials = munge_of("me")};
    const auto offered = offer_secret(mine);
    ASSERT_TRUE(offered);
    EXPECT_EQ(offered->secret.size(), 32U) << "128 bits in hexadecimal";
    EXPECT_EQ(*secret_from(offered->offer, mine), offered->secret);
    EXPECT_NE(offer_secret(mine)->secret, offered->secret);
    const auto others = secret_from(offered->offer, {.secret = {}, .credentials = munge_of("you")});
    ASSERT_FALSE(others);
    EXPECT_EQ(others.error().cause(), core::Cause::kDenied);
}

TEST(bench, a_rank_with_munge_does_not_believe_a_root_that_offers_nothing) {
    const auto believed = secret_from("", {.secret = {}, .credentials = munge_of("me")});
    ASSERT_FALSE(believed);
    EXPECT_EQ(believed.error().cause(), core::Cause::kDenied);
    EXPECT_THAT(believed.error().message(), HasSubstr("offers no credential"));
    EXPECT_EQ(*secret_from("", {.secret = {}, .credentials = without_munge()}), "");
    EXPECT_EQ(offer_secret({.secret = {}, .credentials = without_munge()})->secret, "");
}

TEST(bench, a_secret_that_was_given_needs_no_offer) {
    const Introduction given{.secret = "given", .credentials = without_munge()};
    EXPECT_EQ(offer_secret(given)->secret, "given");
    EXPECT_EQ(offer_secret(given)->offer, "");
    EXPECT_EQ(*secret_from("", given), "given");
}

TEST(bench, a_proof_is_of_one_rank_one_meeting_and_one_secret) {
    const std::vector<uint64_t> nonces = {1, 2, 3};
    std::vector<RankProof> proofs;
    for (int rank = 0; rank < 3; ++rank) proofs.push_back(proof_of("secret", rank, nonces));
    EXPECT_TRUE(check_proofs("secret", nonces, proofs));
    const auto refused = [&](std::string_view secret, std::vector<uint64_t> seen,
                             std::vector<RankProof> said) {
        const auto checked = check_proofs(secret, seen, said);
        return checked ? std::string() : checked.error().message();
    };
    EXPECT_THAT(refused("another", nonces, proofs), HasSubstr("rank 0 does not know the secret"));
    EXPECT_THAT(refused("secret", {1, 2, 4}, proofs), HasSubstr("rank 0"));
    EXPECT_THAT(refused("secret", nonces, {proofs[0], proofs[2], proofs[1]}), HasSubstr("rank 1"));
    EXPECT_THAT(refused("secret", nonces, {proofs[0], proofs[1], {0, 0}}), HasSubstr("rank 2"));
}

}  // namespace
}  // namespace belay::bench
