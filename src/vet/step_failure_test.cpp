// What fails on a node of a step, and who says so.
#include "core/text.h"
#include "transfer/rendezvous.h"
#include "vet/step_parts.h"
#include "vet/step_testing.h"
#include "vet/verdict_text.h"

#include <cerrno>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kMemory;
using testing::protocol_of;
using ::testing::StartsWith;
using testing::Step;

// The first node may open so few files that it has no room for the others, which are not to blame.
TEST(vet, step_whose_root_lacks_descriptors_blames_no_node) {
    Step step(200);
    step.base().timeout = 60s;
    Protocol protocol = protocol_of(kMemory);
    auto root = core::Work::start({.what = "the root"}, [&]() -> core::Result<std::string> {
                    rlimit few{64, 64};
                    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return "no limit";
                    auto verdicts = run_in_step(protocol, step.context(0));
                    return verdicts ? summary(*verdicts) : verdicts.error().render();
                }).value();
    auto until = core::Deadline::after(60s);
    auto ports = transfer::rendezvous_ports(step.base().name);
    auto first = transfer::join("127.0.0.1", ports, transfer::known(step.base().secret), 1, until);
    ASSERT_TRUE(first);
    std::vector<transfer::Channel> members;
    uint16_t root_port = 0;
    for (uint32_t rank = 2; rank < 200; ++rank)
        for (uint16_t port : ports)
            if (auto socket = transfer::connect_to("127.0.0.1", port, until)) {
                members.emplace_back(std::move(*socket));
                root_port = port;
            }
    for (uint32_t rank = 2; rank < 200; ++rank)  // those that are not taken hear of it when the root ends
        (void)transfer::introduce(members.at(rank - 2), transfer::known(step.base().secret),
                                  transfer::step_purpose(root_port), rank, until);
    std::string told = root.finish(until).value();
    EXPECT_THAT(told, HasSubstr("n0, where the nodes of the step meet, heard 1 of 200 nodes: cannot take the "
                                "connections of all nodes: Too many open files"));
    EXPECT_THAT(told, HasSubstr("hint: raise this node's hard limit of open files (RLIMIT_NOFILE, now 64)"));
}

// As where a user may have no more processes; root, who is exempt, becomes an ordinary user for it.
void forbid_processes() {
    rlimit none{0, 0};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    if (geteuid() == 0) {
        ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
    }
}

core::Work crowded(const Protocol& protocol, const StepContext& context) {
    return core::Work::start({.what = "a crowded node"},
                             [protocol, context]() -> core::Result<std::string> {
                                 forbid_processes();
                                 auto verdicts = run_in_step(protocol, context);
                                 return verdicts ? core::join(refusals(*verdicts), "\n")
                                                 : verdicts.error().render();
                             })
        .value();
}

TEST(vet, step_hears_why_a_node_cannot_check_itself) {
    Step step(4);
    step.base().timeout = 60s;
    Protocol protocol = protocol_of(std::string(kMemory) + "- {name: more, type: mem.free, min: 1KiB}\n");
    auto second = crowded(protocol, step.context(2)), third = crowded(protocol, step.context(3));
    auto verdicts = step.run(protocol, {2, 3});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_THAT(verdicts->cordoned, ElementsAre("n2", "n3"));
    EXPECT_EQ(verdicts->nodes[3].report, Status::kError) << "it could be heard";
    const std::string cause = "error: its own checks: ";
    EXPECT_THAT(refusals(*verdicts), ElementsAre(AllOf(StartsWith("n[2-3]: " + cause),
                                                       HasSubstr("Resource temporarily unavailable"))))
        << "once for both nodes and all checks";
    EXPECT_THAT(second.finish(core::Deadline::after(30s)).value(), HasSubstr(cause))
        << "it hears the verdict";
    EXPECT_TRUE(third.finish(core::Deadline::after(30s)));
}

TEST(vet, step_whose_root_cannot_check_itself_hears_of_it) {
    Step step(2);
    step.base().timeout = 60s;
    auto root = crowded(protocol_of(kMemory), step.context(0));
    auto member = Step::member(protocol_of(kMemory), step.context(1));
    EXPECT_THAT(root.finish(core::Deadline::after(60s)).value(),
                HasSubstr("n0: error: its own checks: cannot start"));
    EXPECT_THAT(member.finish(core::Deadline::after(60s)).value(), HasSubstr("\"cordoned\":[\"n0\"]"));
}

TEST(vet, step_hears_of_a_node_that_cannot_read_the_protocol) {
    Step step(2);
    step.base().timeout = 60s;
    auto other =
        core::Work::start({.what = "a node"}, [context = step.context(1)]() -> core::Result<std::string> {
            auto failure = core::bad_input("unknown check").hint("update this node").error();
            BELAY_CHECK(fail_in_step(failure, context));
            return "told";
        }).value();
    auto verdicts = step.run(protocol_of(kMemory), {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_THAT(refusals(*verdicts), ElementsAre("n1: error: unknown check; update this node"));
    EXPECT_EQ(other.finish(core::Deadline::after(30s)).value(), "told");
}

// It speaks for itself: what it should have told the first node reaches nobody else.
TEST(vet, a_node_that_cannot_tell_its_failure_keeps_it) {
    Step step(3);
    step.base().timeout = 100ms;
    auto failure = core::bad_input("unknown check").hint("update this node").error();
    auto told = fail_in_step(failure, step.context(2));
    ASSERT_FALSE(told);
    EXPECT_THAT(told.error().message(), StartsWith("unknown check; n2 cannot tell n0 of it: 127.0.0.1:"));
    EXPECT_EQ(told.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(told.error().hint_text(), "update this node");
    EXPECT_NE(told.error().cause(), core::Cause::kUnreachable);
}

TEST(vet, only_what_the_second_node_says_too_is_left_to_it) {
    Step step(3);
    StepContext third = step.context(2);
    const auto silent = core::system_error("n0 is silent").because(core::Cause::kUnreachable).error();
    const auto absent = core::errno_error(ENOENT, "cannot start a check").error();
    EXPECT_TRUE(is_said_elsewhere(silent, third));
    EXPECT_FALSE(is_said_elsewhere(silent, step.context(1)));
    EXPECT_FALSE(is_said_elsewhere(absent, third)) << "its own, though something is not there";
    third.root_address = std::unexpected(core::errno_error(EMFILE, "the name service").error());
    EXPECT_FALSE(is_said_elsewhere(third.root_address.error(), third)) << "its own";
    third.root_address = std::unexpected(
        core::system_error("the name service gave no answer").because(core::Cause::kTimedOut).error());
    auto late = run_in_step(protocol_of(kMemory), third);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().cause(), core::Cause::kTimedOut) << "the first node has nothing to do with it";
    EXPECT_FALSE(is_said_elsewhere(late.error(), third));
}

TEST(vet, a_node_that_may_open_no_files_does_not_blame_the_first) {
    Step step(2);
    step.base().timeout = 1s;
    auto member = core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
                      rlimit few{3, 3};
                      if (setrlimit(RLIMIT_NOFILE, &few) != 0) return "no limit";
                      auto verdicts = run_in_step(protocol_of(kMemory), step.context(1));
                      if (verdicts) return "a verdict";
                      return std::unexpected(std::move(verdicts.error()));
                  }).value();
    auto error = member.finish(core::Deadline::after(30s));
    ASSERT_FALSE(error) << *error;
    EXPECT_EQ(error.error().errno_value(), EMFILE) << error.error().message();
    EXPECT_NE(error.error().cause(), core::Cause::kUnreachable);
    EXPECT_EQ(error.error().hint_text(), "");
}

TEST(vet, a_pair_that_fails_says_which_side_failed_of_what) {
    const auto late = core::system_error("nobody connected in time").because(core::Cause::kTimedOut).error();
    const auto refused = core::system_error("10.0.0.1:17: Connection refused")
                             .because(core::Cause::kUnreachable)
                             .hint("a firewall?")
                             .error();
    const auto files = core::errno_error(EMFILE, "cannot take a connection").error();
    auto of = [](const core::Error& error) { return core::Result<double>(std::unexpected(error)); };
    auto failed = rate_of_pair({"n0", of(late)}, {"n1", of(refused)});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(), "n1, connecting to n0: 10.0.0.1:17: Connection refused");
    EXPECT_EQ(failed.error().cause(), core::Cause::kUnreachable);
    EXPECT_EQ(failed.error().hint_text(), "a firewall?");
    EXPECT_EQ(rate_of_pair({"n0", of(files)}, {"n1", of(late)}).error().message(),
              "n0, waiting for n1: cannot take a connection: Too many open files");
    EXPECT_THAT(rate_of_pair({"n0", of(late)}, {"n1", 3.0}).error().message(),
                StartsWith("n0, waiting for n1"));
    EXPECT_EQ(rate_of_pair({"n0", 5.0}, {"n1", 3.0}).value(), 3.0);
}

}  // namespace
}  // namespace belay::vet
