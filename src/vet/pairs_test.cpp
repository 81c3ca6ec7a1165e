#include "vet/pairs.h"

#include "vet/step.h"

#include <algorithm>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<uint32_t> nodes_of(uint32_t count) {
    std::vector<uint32_t> nodes;
    for (uint32_t i = 0; i < count; ++i) nodes.push_back(i);
    return nodes;
}

struct Played {
    PairPlanner planner;
    int rounds = 0;
    std::vector<uint32_t> convicted, inconclusive;
};

// Plays all rounds, where `fast` says how a pair fares.
Played play(uint32_t count, uint64_t seed, const std::function<bool(uint32_t, uint32_t)>& fast) {
    Played played{PairPlanner(nodes_of(count), seed)};
    for (;;) {
        auto pairs = played.planner.next_round();
        if (pairs.empty()) break;
        std::set<uint32_t> busy;
        for (auto [a, b] : pairs) {
            EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << "a node twice in a round";
            played.planner.record({a, b}, fast(a, b));
        }
        if (++played.rounds > 1000) ADD_FAILURE() << "it does not end";
        if (played.rounds > 1000) break;
    }
    for (uint32_t node : nodes_of(count)) {
        EXPECT_NE(played.planner.verdict(node), PairVerdict::kUntested);
        if (played.planner.verdict(node) == PairVerdict::kConvicted) played.convicted.push_back(node);
        if (played.planner.verdict(node) == PairVerdict::kInconclusive) played.inconclusive.push_back(node);
    }
    return played;
}

TEST(vet, pairs_of_healthy_nodes_are_tested_once) {
    for (uint32_t count : {2U, 4U, 9U, 64U}) {
        Played played = play(count, 7, [](uint32_t, uint32_t) { return true; });
        EXPECT_THAT(played.convicted, IsEmpty());
        EXPECT_THAT(played.inconclusive, IsEmpty());
        EXPECT_EQ(played.rounds, count % 2 == 0 ? 1 : 2);
    }
}

TEST(vet, pairs_convict_the_slow_node_and_nobody_else) {
    for (uint32_t count : {3U, 4U, 5U, 8U, 33U})
        for (uint64_t seed = 0; seed < 50; ++seed) {
            Played played = play(count, seed, [](uint32_t a, uint32_t b) { return a != 2 && b != 2; });
            EXPECT_THAT(played.convicted, ElementsAre(2)) << count << " nodes, seed " << seed;
            EXPECT_THAT(played.inconclusive, IsEmpty());
            EXPECT_THAT(played.planner.failed_with(2),
                        SizeIs(count == 3 ? testing::Ge(1U) : testing::Ge(2U)));
        }
}

TEST(vet, pairs_convict_several) {
    std::set<uint32_t> slow{1, 5, 6};
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Played played =
            play(16, seed, [&](uint32_t a, uint32_t b) { return !slow.contains(a) && !slow.contains(b); });
        EXPECT_THAT(played.convicted, ElementsAre(1, 5, 6)) << seed;
    }
}

// One path, not a node, is slow: each of the two is fast with others.
TEST(vet, pairs_do_not_convict_for_one_slow_path) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Played played = play(
            8, seed, [](uint32_t a, uint32_t b) { return !(std::min(a, b) == 3 && std::max(a, b) == 4); });
        EXPECT_THAT(played.convicted, IsEmpty()) << seed;
    }
}

TEST(vet, pairs_without_a_fast_one_are_inconclusive) {
    Played two = play(2, 1, [](uint32_t, uint32_t) { return false; });
    EXPECT_THAT(two.inconclusive, ElementsAre(0, 1));
    EXPECT_EQ(two.rounds, 1);
    Played many = play(10, 1, [](uint32_t, uint32_t) { return false; });
    EXPECT_THAT(many.convicted, IsEmpty());
    EXPECT_THAT(many.inconclusive, SizeIs(10));
    EXPECT_LE(many.rounds, 3);
}

TEST(vet, pairs_go_on_without_a_silent_node) {
    PairPlanner planner(nodes_of(4), 3);
    for (int round = 0; round < 100; ++round) {
        auto pairs = planner.next_round();
        if (pairs.empty()) break;
        for (auto pair : pairs) {
            bool silent = pair.first == 1 || pair.second == 1;
            planner.record(pair, !silent);
            if (silent) planner.exclude(1);
        }
    }
    for (uint32_t node : {0U, 2U, 3U}) EXPECT_EQ(planner.verdict(node), PairVerdict::kGood);
}

// Whatever the answers, it ends and no node is both tested twice in a round.
TEST(vet, pairs_end_whatever_happens) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        uint64_t state = seed;
        play(static_cast<uint32_t>(2 + seed % 20), seed, [&](uint32_t, uint32_t) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            return (state >> 60) % 3 != 0;
        });
    }
}

std::vector<Status> statuses(const std::vector<Outcome>& outcomes) {
    std::vector<Status> out;
    for (const Outcome& outcome : outcomes) out.push_back(outcome.status);
    return out;
}

TEST(vet, clocks_are_compared_with_the_median) {
    using enum Status;
    // The root's own clock (0) is the wrong one.
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}, {5.0, 0.001}, {5.01, 0.001}}, 0.1)),
                ElementsAre(kFail, kPass, kPass));
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}, {0.05, 0.001}}, 0.1)), ElementsAre(kPass, kPass));
    auto two = judge_clocks({{0.0, 0}, {3.0, 0.001}}, 0.1);
    EXPECT_THAT(statuses(two), ElementsAre(kFail, kFail)) << "nobody can tell which";
    EXPECT_DOUBLE_EQ(*two[1].value, 3);
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}, {0.3, 0.5}}, 0.1)), ElementsAre(kError, kError))
        << "too slow an answer";
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}, {0.05, 0.5}, {0.05, 0.01}}, 0.1)),
                ElementsAre(kPass, kError, kPass))
        << "near, but as far as anyone can tell it may be half a second away";
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}, {3.0, 0.5}, {0.05, 0.01}}, 0.1)),
                ElementsAre(kPass, kFail, kPass))
        << "wrong, however slow the answer";
    EXPECT_THAT(
        statuses(judge_clocks({{0.0, 0}, {{}, 0, core::system_error("timed out").error()}, {0.0, 0}}, 0.1)),
        ElementsAre(kPass, kError, kPass));
    EXPECT_THAT(statuses(judge_clocks({{0.0, 0}}, 0.1)), ElementsAre(kUnsupported));
}

}  // namespace
}  // namespace belay::vet
