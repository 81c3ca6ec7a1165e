#include "vet/step_wire.h"

#include "vet/verdict_json.h"

#include <cerrno>
#include <cstdlib>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

size_t allocations = 0;  // of this program, by one thread at a time where they are counted

}  // namespace

void* operator new(size_t size) {
    ++allocations;
    if (void* memory = std::malloc(std::max<size_t>(size, 1))) return memory;
    throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(std::max<size_t>(size, 1));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}

namespace belay::vet {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdicts verdicts_of(size_t nodes, size_t checks, size_t refused) {
    std::vector<NodeVerdict> verdicts;
    for (size_t i = 0; i < nodes; ++i) {
        NodeVerdict& node = verdicts.emplace_back(NodeVerdict{.node = fmt::format("n{}", i)});
        for (size_t j = 0; j < checks; ++j)
            node.checks.push_back({.name = fmt::format("check {}", j),
                                   .type = "mem.free",
                                   .status = i < refused && j == 0 ? Status::kFail : Status::kPass,
                                   .reason = fmt::format("node {} was looked at and found so and so", i)});
    }
    return judge("p", std::move(verdicts), std::nullopt);
}

TEST(vet, a_node_is_told_of_itself_and_of_those_that_were_refused) {
    Verdicts verdicts = verdicts_of(10, 3, 2);
    VerdictMessages messages(verdicts);
    auto told = decode_verdict(messages.for_rank(7));
    ASSERT_TRUE(told) << told.error().message();
    EXPECT_FALSE(told->passed);
    EXPECT_EQ(told->vetted.size(), 8U);
    EXPECT_EQ(told->cordoned, (std::vector<std::string>{"n0", "n1"}));
    ASSERT_EQ(told->nodes.size(), 3U);
    EXPECT_EQ(told->nodes[0].node, "n7");
    EXPECT_EQ(told->nodes[0].checks.size(), 3U) << "all of its own";
    EXPECT_EQ(told->nodes[2].node, "n1");
    EXPECT_EQ(told->nodes[2].checks.size(), 1U) << "of others what refused them";
    auto refused = decode_verdict(messages.for_rank(1));
    ASSERT_TRUE(refused) << refused.error().message();
    ASSERT_EQ(refused->nodes.size(), 2U) << "itself once";
    EXPECT_EQ(refused->nodes[0].checks.size(), 3U);
    auto few = decode_verdict(VerdictMessages(verdicts, 1).for_rank(1));
    ASSERT_TRUE(few);
    EXPECT_EQ(few->nodes.size(), 2U) << "itself, and one of the refused";
    EXPECT_FALSE(decode_verdict("{}"));
}

core::Error failure() {
    return core::errno_error(EACCES, "cannot open /scratch/\xff").error().hint("ask the site");
}

// A failure keeps its kind, cause and hint from node to node; it becomes words where it is shown.
TEST(vet, what_failed_on_a_node_travels_whole) {
    NodeVerdict node{.node = "n0",
                     .checks = {{.name = "c", .type = "c", .status = Status::kError, .reason = failure()},
                                {.name = "d", .type = "d", .status = Status::kFail, .reason = "too little"}},
                     .report = Status::kError,
                     .report_problem = failure()};
    auto told = decode_verdict(VerdictMessages(judge("p", {node}, {})).for_rank(0));
    ASSERT_TRUE(told) << told.error().message();
    EXPECT_EQ(told->nodes.at(0).report_problem, failure());
    ASSERT_NE(told->nodes[0].checks.at(0).reason.failure(), nullptr);
    EXPECT_EQ(*told->nodes[0].checks[0].reason.failure(), failure());
    EXPECT_EQ(told->nodes[0].checks.at(1).reason.failure(), nullptr);
    EXPECT_EQ(told->nodes[0].checks[1].reason.text(), "too little");
    EXPECT_EQ(to_json(told->nodes[0])["checks"][0]["reason"],
              "cannot open /scratch/\xff: Permission denied; ask the site");
    EXPECT_FALSE(to_json(told->nodes[0])["checks"][0].contains("failure"));

    Report report{.results = {node.checks[0]}, .clock = std::unexpected(failure())};
    auto reported = decode_report(encode(report), 1);
    ASSERT_TRUE(reported) << reported.error().message();
    EXPECT_EQ(reported->clock->error(), failure());
    EXPECT_EQ(*reported->results.at(0)->reason.failure(), failure());
    report.clock = transfer::ClockOffset{.seconds = -2, .round_trip = 0.5};
    EXPECT_EQ(decode_report(encode(report), 1)->clock->value().seconds, -2);
    report.clock.reset();
    EXPECT_FALSE(decode_report(encode(report), 1)->clock);

    auto answered = decode_pair_answer(encode({.name = "t", .bytes_per_second = std::unexpected(failure())}));
    ASSERT_TRUE(answered) << answered.error().message();
    EXPECT_EQ(answered->bytes_per_second.error(), failure());
    EXPECT_EQ(decode_pair_answer(encode({.name = "t", .bytes_per_second = 5}))->bytes_per_second, 5);
    for (const char* wrong : {R"({"name":"t"})", R"({"name":"t","bytes_per_second":-1})",
                              R"({"name":"t","failure":"00"})", R"({"name":"t","failure":7})"})
        EXPECT_FALSE(decode_pair_answer(wrong)) << wrong;
}

size_t allocations_to_tell(size_t nodes) {
    Verdicts verdicts = verdicts_of(nodes, 20, 3);
    size_t before = allocations;
    VerdictMessages messages(verdicts);
    size_t bytes = 0;
    for (size_t rank = 0; rank < nodes; ++rank) bytes += messages.for_rank(rank).size();
    EXPECT_GT(bytes, nodes * 20 * 100);
    return allocations - before;
}

TEST(vet, telling_twice_as_many_nodes_costs_twice_as_much) {
    size_t hundred = allocations_to_tell(100), two_hundred = allocations_to_tell(200);
    EXPECT_GT(hundred, 1000U) << "they are counted";
    EXPECT_LT(two_hundred, 2 * hundred + 1000);
}

}  // namespace
}  // namespace belay::vet
