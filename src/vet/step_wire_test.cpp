#include "vet/step_wire.h"

#include <cstdlib>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

size_t allocations = 0;  // of this program, by one thread at a time where they are counted

}  // namespace

void* operator new(size_t size) {
    ++allocations;
    if (void* memory = std::malloc(std::max<size_t>(size, 1))) return memory;
    throw std::bad_alloc();
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
