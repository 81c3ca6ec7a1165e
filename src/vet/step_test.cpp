#include "vet/step.h"

#include "core/json.h"
#include "core/work.h"
#include "transfer/rendezvous.h"
#include "vet/runner.h"
#include "vet/step_context.h"
#include "vet/step_parts.h"
#include "vet/step_testing.h"
#include "vet/step_wire.h"

#include <map>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::vet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMemory;
using testing::protocol_of;
using testing::Step;

TEST(vet, step_of_fit_nodes_passes_and_all_hear_of_it) {
    Step step(4);
    auto verdicts = step.run(protocol_of(kMemory));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_TRUE(verdicts->passed);
    EXPECT_THAT(verdicts->vetted, ElementsAre("n0", "n1", "n2", "n3"));
    for (const NodeVerdict& node : verdicts->nodes) EXPECT_EQ(node.checks.at(0).value, 100.0 * 1024);
    for (uint32_t rank : {1U, 2U, 3U}) EXPECT_THAT(step.told(rank), HasSubstr("\"verdict\":\"pass\""));
}

TEST(vet, step_names_the_node_that_is_not_fit) {
    Step step(3);
    step.set_memory(2, 7);
    bool announced = false;
    step.base().announce = [&](const Verdicts& verdicts) { announced = !verdicts.passed; };
    auto verdicts = step.run(protocol_of(kMemory));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->exit_status(), 1);
    EXPECT_TRUE(announced);
    EXPECT_THAT(verdicts->cordoned, ElementsAre("n2"));
    EXPECT_EQ(verdicts->nodes[2].checks.at(0).status, Status::kFail);
    // A node that is fit hears which one is not, and why.
    auto told = verdicts_from_json(core::parse_json(step.told(1)));
    ASSERT_TRUE(told) << step.told(1);
    EXPECT_FALSE(told->passed);
    ASSERT_EQ(told->nodes.size(), 2U);
    EXPECT_EQ(told->nodes[1].node, "n2");
    EXPECT_EQ(told->nodes[1].checks.at(0).value, 7.0 * 1024);
}

TEST(vet, step_with_a_silent_node_ends_at_the_deadline) {
    Step step(3);
    step.base().timeout = 3s;  // the others report in it also on a machine that is busy
    auto verdicts = step.run(protocol_of(kMemory), {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->exit_status(), 1);
    EXPECT_THAT(verdicts->cordoned, ElementsAre("n1"));
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kMissing);
    EXPECT_EQ(verdicts->nodes[1].checks.at(0).reason.text(), "no report within 3s");
    ASSERT_TRUE(verdicts->nodes[1].report_problem);
    EXPECT_EQ(verdicts->nodes[1].report_problem->cause(), core::Cause::kTimedOut);
    EXPECT_EQ(verdicts->nodes[2].verdict, Status::kPass);
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    auto seconds = [](timeval time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Its checks convict nobody, but nobody knows whether it lives. The root has reported itself long before.
TEST(vet, step_with_a_silent_node_fails_also_when_all_checks_are_warnings) {
    Step step(2);
    step.base().timeout = 1s;
    double before = cpu_seconds();
    auto verdicts = step.run(protocol_of("- {type: mem.free, min: 50KiB, severity: warning}\n"), {1});
    EXPECT_LT(cpu_seconds() - before, 0.3) << "of the three seconds that it waits";
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_FALSE(verdicts->passed);
    EXPECT_THAT(verdicts->cordoned, ::testing::Contains("n1"));
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kMissing);
}

TEST(vet, step_without_its_root_is_refused_by_name) {
    Step step(2);
    step.base().timeout = 200ms;
    auto verdicts = run_in_step(protocol_of(kMemory), step.context(1));
    ASSERT_FALSE(verdicts);
    EXPECT_EQ(verdicts.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(verdicts.error().cause(), core::Cause::kUnreachable);
    EXPECT_THAT(verdicts.error().message(), HasSubstr("n1 got no verdict from n0"));
}

TEST(vet, step_does_not_believe_who_lacks_the_secret) {
    Step step(2);
    step.base().timeout = 300ms;
    StepContext stranger = step.context(1);
    stranger.secret = "guessed";
    auto other = Step::member(protocol_of(kMemory), stranger);
    auto verdicts = step.run(protocol_of(kMemory), {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kMissing);
    EXPECT_THAT(other.finish(core::Deadline::after(30s)).value(), HasSubstr("got no verdict"));
}

TEST(vet, step_whose_nodes_read_different_protocols_fails) {
    Step step(2);
    const std::string warning = "- {name: memory, type: mem.free, severity: warning, min: ";
    auto other = Step::member(protocol_of(warning + "1B}\n"), step.context(1));
    auto verdicts = step.run(protocol_of(warning + "2B}\n"), {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kError) << "however little its checks count";
    EXPECT_THAT(verdicts->nodes[1].checks.at(0).reason.text(), HasSubstr("different contents"));
}

TEST(vet, step_that_needs_fewer_nodes_can_pass_without_one) {
    Step step(3);
    step.set_memory(0, 7);
    step.base().need = 2;
    auto verdicts = step.run(protocol_of(kMemory));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->exit_status(), 0);
    EXPECT_THAT(verdicts->vetted, ElementsAre("n1", "n2"));
    step.base().need = 3;
    step.base().name += "again";
    verdicts = step.run(protocol_of(std::string(kMemory) + "- {type: clock.offset}\n"));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->exit_status(), 4) << "stopped early";
    EXPECT_THAT(verdicts->vetted, IsEmpty()) << "clocks were never compared";
    EXPECT_THAT(step.told(2), HasSubstr("\"stopped_early\":true"));
}

TEST(vet, step_compares_clocks_and_tests_pairs) {
    Step step(5);
    std::string checks =
        "- {type: clock.offset, max: 10s}\n"
        "- {name: links, type: net.pair_bandwidth, min: 1 kB/s, duration: 200ms, streams: 2}\n"
        "- {name: dreams, type: net.pair_bandwidth, min: 900 TB/s, duration: 10ms, severity: warning}\n";
    auto verdicts = step.run(protocol_of(kMemory + checks));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_TRUE(verdicts->passed);
    for (const NodeVerdict& node : verdicts->nodes) {
        ASSERT_EQ(node.checks.size(), 4U) << node.node;
        EXPECT_EQ(node.checks[1].status, Status::kPass) << node.checks[1].reason.text();
        EXPECT_EQ(node.checks[2].status, Status::kPass) << node.checks[2].reason.text();
        EXPECT_GT(node.checks[2].value.value_or(0), 1000);
        EXPECT_EQ(node.checks[3].status, Status::kFail);
        EXPECT_THAT(node.checks[3].reason.text(), HasSubstr("the minimum may be to blame"));
    }
}

// It reports, and falls silent before its pair is tested.
// From the check's process to the node's, to the first node, and back to all.
TEST(vet, step_hears_whole_why_a_check_could_not_be_measured) {
    Step step(2);
    step.forget_memory(1);
    auto verdicts = step.run(protocol_of(kMemory));
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].checks.at(0).status, Status::kError);
    const core::Error* failure = verdicts->nodes[1].checks[0].reason.failure();
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->cause(), core::Cause::kNotFound);
    EXPECT_EQ(failure->errno_value(), ENOENT);
    EXPECT_EQ(verdicts->nodes[0].checks.at(0).reason.failure(), nullptr) << "a verdict has words";
}

TEST(vet, step_that_loses_a_node_between_checks_goes_on) {
    Step step(3);
    Protocol protocol = protocol_of(std::string(kMemory) +
                                    "- {type: net.pair_bandwidth, min: 1 kB/s, duration: 200ms, "
                                    "severity: warning}\n");
    auto deserter =
        core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
            StepContext context = step.context(1);
            auto ports = transfer::rendezvous_ports(context.name);
            auto root = transfer::join(*context.root_address, ports, transfer::known(context.secret), 1,
                                       core::Deadline::after(10s));
            Report report{.digest = protocol.digest, .data_port = 1};
            report.results =
                run_node_checks(protocol, {.deadline = core::Deadline::after(10s), .view = context.view});
            if (root && root->send({kReport, encode(report)}, core::Deadline::after(10s)))
                (void)root->receive(core::Deadline::after(10s));  // an order, or nothing
            return "gone";
        }).value();
    auto verdicts = step.run(protocol, {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_FALSE(verdicts->passed);
    EXPECT_EQ(verdicts->nodes[1].checks.at(0).status, Status::kPass);
    EXPECT_EQ(verdicts->nodes[1].checks.at(1).status, Status::kMissing)
        << verdicts->nodes[1].checks[1].reason.text();
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kMissing) << "what it left counts only a little";
    EXPECT_EQ(verdicts->nodes[0].verdict, Status::kPass);
    EXPECT_EQ(verdicts->nodes[2].verdict, Status::kPass);
}

// As a node with another version of Belay may.
TEST(vet, step_says_of_a_node_that_sends_no_messages_that_it_does) {
    Step step(2);
    step.base().timeout = 1s;
    Protocol protocol = protocol_of(kMemory);
    auto babbler = core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
                       StepContext context = step.context(1);
                       auto ports = transfer::rendezvous_ports(context.name);
                       auto until = core::Deadline::after(10s);
                       auto root = transfer::join(*context.root_address, ports,
                                                  transfer::known(context.secret), 1, until);
                       if (root) (void)root->send({kReport, std::string(size_t{8} << 20, 'x')}, until);
                       return "gone";
                   }).value();
    auto verdicts = step.run(protocol, {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].verdict, Status::kMissing);
    EXPECT_THAT(verdicts->nodes[1].checks.at(0).reason.text(),
                HasSubstr("no report: it sent: a message of 8388625 bytes"));  // with type and MAC
}

core::Error broken_wire() {
    return core::system_error("a broken wire").because(core::Cause::kUnreachable).hint("mend it").error();
}

// As a node that was still busy with an earlier test would; its answer to this one comes later.
TEST(vet, step_passes_over_answers_to_another_test_of_a_pair) {
    Step step(2);
    Protocol protocol = protocol_of("- {type: net.pair_bandwidth, min: 1 kB/s, duration: 50ms}\n");
    auto late =
        core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
            StepContext context = step.context(1);
            uint16_t any[] = {0};
            auto listener = transfer::listen_on(any).value();
            auto ports = transfer::rendezvous_ports(context.name);
            auto until = core::Deadline::after(20s);
            auto root =
                transfer::join(*context.root_address, ports, transfer::known(context.secret), 1, until);
            Report report{.digest = protocol.digest, .data_port = listener.port, .results = {{}}};
            if (!root || !root->send({kReport, encode(report)}, until)) return "no root";
            for (;;) {
                auto order = decode_pair_order(root->receive(until).value().body);
                if (!order) return "verdict";
                PairAnswer other{.name = "another", .bytes_per_second = 1e15};
                (void)root->send({kPairAnswer, encode(other)}, until);
                (void)answer_pair_order(*order, listener.socket.get(), context.secret);
                std::this_thread::sleep_for(300ms);  // the root's own answer is there
                PairAnswer own{.name = order->name, .bytes_per_second = std::unexpected(broken_wire())};
                (void)root->send({kPairAnswer, encode(own)}, until);
            }
        }).value();
    auto verdicts = step.run(protocol, {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].checks.at(0).status, Status::kError);
    EXPECT_THAT(verdicts->nodes[1].checks.at(0).reason.text(), HasSubstr("a broken wire"));
    const core::Error* failure = verdicts->nodes[1].checks.at(0).reason.failure();
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->cause(), core::Cause::kUnreachable);
    EXPECT_EQ(failure->hint_text(), "mend it");
}

// Its data port is blocked: it is not fit, but nothing says that it is slow.
TEST(vet, step_does_not_call_a_node_slow_of_which_nothing_was_measured) {
    Step step(3);
    Protocol protocol = protocol_of("- {type: net.pair_bandwidth, min: 1 kB/s, duration: 50ms}\n");
    auto blocked =
        core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
            StepContext context = step.context(2);
            auto ports = transfer::rendezvous_ports(context.name);
            auto until = core::Deadline::after(20s);
            auto root =
                transfer::join(*context.root_address, ports, transfer::known(context.secret), 2, until);
            Report report{.digest = protocol.digest, .data_port = 1, .results = {{}}};
            if (!root || !root->send({kReport, encode(report)}, until)) return "no root";
            for (;;) {
                auto order = decode_pair_order(root->receive(until).value().body);
                if (!order) return "verdict";
                PairAnswer answer{.name = order->name, .bytes_per_second = std::unexpected(broken_wire())};
                (void)root->send({kPairAnswer, encode(answer)}, until);
            }
        }).value();
    auto verdicts = step.run(protocol, {2});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    EXPECT_EQ(verdicts->nodes[1].checks.at(0).status, Status::kPass);
    const CheckResult& check = verdicts->nodes[2].checks.at(0);
    EXPECT_EQ(check.status, Status::kError);
    EXPECT_FALSE(check.value);
    EXPECT_NE(check.reason.failure(), nullptr);
    EXPECT_THAT(check.reason.text(), HasSubstr("no test completed also with"));
}

TEST(vet, step_report_that_leaves_a_check_out_does_not_pass) {
    Step step(2);
    Protocol protocol = protocol_of(std::string(kMemory) + "- {type: env.var, expected: {A: null}}\n");
    auto sloppy = core::Work::start({.what = "a node"}, [&]() -> core::Result<std::string> {
                      StepContext context = step.context(1);
                      auto ports = transfer::rendezvous_ports(context.name);
                      auto root =
                          transfer::join(*context.root_address, ports, transfer::known(context.secret), 1,
                                         core::Deadline::after(10s));
                      Report report{.digest = protocol.digest, .data_port = 1};
                      report.results.resize(2);
                      report.results[0] = CheckResult{.name = "x", .type = "x", .status = Status::kPass};
                      if (root && root->send({kReport, encode(report)}, core::Deadline::after(10s)))
                          (void)root->receive(core::Deadline::after(10s));
                      return "";
                  }).value();
    auto verdicts = step.run(protocol, {1});
    ASSERT_TRUE(verdicts) << verdicts.error().render();
    ASSERT_EQ(verdicts->nodes[1].checks.size(), 2U);
    EXPECT_EQ(verdicts->nodes[1].checks[0].name, "memory") << "as the protocol calls it";
    EXPECT_EQ(verdicts->nodes[1].checks[1].status, Status::kMissing);
}

TEST(vet, step_of_one_node_needs_nobody) {
    Step step(1);
    auto verdicts = run_in_step(protocol_of(kMemory), step.context(0));
    ASSERT_TRUE(verdicts);
    EXPECT_THAT(verdicts->vetted, ElementsAre("n0"));
}

TEST(vet, step_context_from_what_slurm_says) {
    core::Environment variables{
        {"SLURM_JOB_ID", "7"},         {"SLURM_STEP_ID", "2"},           {"SLURM_STEP_NODELIST", "n[3-5]"},
        {"SLURM_NODEID", "1"},         {"SLURM_LOCALID", "0"},           {"SLURM_PROCID", "4"},
        {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_SRUN_COMM_PORT", "40001"}};
    auto address = [](const std::string& node) -> core::Result<std::string> { return "address of " + node; };
    auto context = step_context(slurm::lookup_in(variables), address).value();
    ASSERT_TRUE(context);
    EXPECT_EQ(context->rank, 1U);
    EXPECT_THAT(context->nodes, ElementsAre("n3", "n4", "n5"));
    EXPECT_EQ(*context->root_address, "address of n3");
    EXPECT_EQ(context->secret, "");
    auto nobody = [](const std::string&) -> core::Result<std::string> {
        return core::system_error("nobody knows it").because(core::Cause::kNotFound);
    };
    auto lost = step_context(slurm::lookup_in(variables), nobody).value();
    ASSERT_TRUE(lost);
    auto no_verdict = run_in_step(protocol_of(kMemory), *lost);
    ASSERT_FALSE(no_verdict);
    EXPECT_THAT(no_verdict.error().message(),
                HasSubstr("n3, where the nodes of the step meet, has no address: nobody knows it"));
    EXPECT_EQ(no_verdict.error().cause(), core::Cause::kNotFound);
    lost->rank = 2;
    EXPECT_TRUE(is_said_elsewhere(no_verdict.error(), *lost)) << "n4 says it";
    lost->rank = 1;
    EXPECT_FALSE(is_said_elsewhere(no_verdict.error(), *lost));
    auto again = variables;
    again["SLURM_RESTART_COUNT"] = "1";
    EXPECT_NE(step_context(slurm::lookup_in(again), address).value()->name, context->name);
    variables["BELAY_STEP_SECRET"] = "s";
    EXPECT_EQ(step_context(slurm::lookup_in(variables), address).value()->secret, "s");
    variables["SLURM_LOCALID"] = "1";
    EXPECT_FALSE(step_context(slurm::lookup_in(variables), address).value()) << "one task per node";
    variables["SLURM_LOCALID"] = "0";
    variables["SLURM_NODEID"] = "9";
    EXPECT_FALSE(step_context(slurm::lookup_in(variables), address));
    EXPECT_FALSE(step_context(slurm::lookup_in({}), address).value()) << "outside Slurm";
}

}  // namespace
}  // namespace belay::vet
