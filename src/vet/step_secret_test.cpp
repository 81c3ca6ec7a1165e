#include "vet/step_secret.h"

#include "transfer/rendezvous.h"
#include "vet/step_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::kMemory;
using testing::protocol_of;
using testing::Step;

constexpr std::string_view kMark = "only for ada: ";

// Credentials that are as good as munge's among friends.
slurm::Credentials credentials() {
    return {[](std::string_view text, const core::Deadline&) {
                return core::Result<std::string>(std::string(kMark) + std::string(text));
            },
            [](std::string_view credential, const core::Deadline&) -> core::Result<std::string> {
                if (!credential.starts_with(kMark))
                    return core::system_error("the credential belongs to the user with the id 1234")
                        .because(core::Cause::kDenied);
                return std::string(credential.substr(kMark.size()));
            }};
}

slurm::Credentials no_munge() {
    auto fails = [](std::string_view, const core::Deadline&) -> core::Result<std::string> {
        return core::system_error("there is no munge").because(core::Cause::kNotFound);
    };
    return {fails, fails};
}

// Two nodes without a secret, and what each can ask.
struct Pair {
    Step step{2};
    // Nodes that shall not meet try until the timeout.
    Pair(const slurm::Credentials& of_root, const slurm::Credentials& of_member,
         core::Duration timeout = 60s) {
        step.base().secret.clear();
        step.base().timeout = timeout;
        step.prepare = [=](StepContext& context) {
            auto weakness = share_secret(context, context.rank == 0 ? of_root : of_member);
            ASSERT_TRUE(weakness);
        };
    }
    bool passes() {
        auto verdicts = step.run(protocol_of(kMemory));
        return verdicts && verdicts->passed;
    }
};

TEST(vet, nodes_without_a_secret_take_that_of_the_first) {
    Pair pair(credentials(), credentials());
    auto verdicts = pair.step.run(
        protocol_of("- {name: pairs, type: net.pair_bandwidth, min: 1 kB/s, duration: 50ms}\n"));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_TRUE(verdicts->passed) << pair.step.told(1);
}

TEST(vet, without_munge_the_nodes_meet_and_the_first_warns) {
    EXPECT_TRUE(Pair(no_munge(), no_munge()).passes());
    StepContext first{{.rank = 0, .nodes = {"n0", "n1"}, .name = "step"}};
    auto weakness = share_secret(first, no_munge());
    ASSERT_TRUE(weakness && *weakness);
    EXPECT_EQ((*weakness)->message(),
              "other users of the cluster could take part in this vetting: there is no munge");
    EXPECT_THAT((*weakness)->hint_text(), HasSubstr("BELAY_STEP_SECRET"));
    EXPECT_EQ(first.secret, "step");
}

// Whoever knows the facts of the step could be the first node, or one of the others.
TEST(vet, an_offer_that_is_missing_or_of_another_user_is_not_believed) {
    Pair no_offer(no_munge(), credentials(), 1s);
    EXPECT_FALSE(no_offer.passes());
    EXPECT_THAT(no_offer.step.told(1),
                HasSubstr("it offers no credential of munge, which answers on this node"));
    auto other_user = credentials();
    other_user.encode = [](std::string_view text, const core::Deadline&) {
        return core::Result<std::string>("only for eve: " + std::string(text));
    };
    Pair of_another(other_user, credentials(), 1s);
    EXPECT_FALSE(of_another.passes());
    EXPECT_THAT(of_another.step.told(1), HasSubstr("belongs to the user with the id 1234"));
}

TEST(vet, who_cannot_open_the_offer_is_not_let_in) {
    Pair stranger(credentials(), no_munge(), 1s);
    EXPECT_FALSE(stranger.passes());
    Pair knows_the_facts(credentials(), credentials(), 1s);
    knows_the_facts.step.prepare = [prepare = knows_the_facts.step.prepare](StepContext& context) {
        prepare(context);
        if (context.rank == 1) context.secret_of = transfer::known(context.name);
    };
    EXPECT_FALSE(knows_the_facts.passes());
    EXPECT_THAT(knows_the_facts.step.told(1), HasSubstr("did not accept this node's proof"));
}

TEST(vet, a_secret_of_the_environment_is_kept) {
    StepContext first{{.rank = 0, .nodes = {"n0", "n1"}, .name = "step", .secret = "s"}};
    EXPECT_FALSE(share_secret(first, no_munge()).value());
    EXPECT_EQ(first.secret, "s");
    StepContext alone{{.rank = 0, .nodes = {"n0"}, .name = "step"}};
    EXPECT_FALSE(share_secret(alone, no_munge()).value());
}

}  // namespace
}  // namespace belay::vet
