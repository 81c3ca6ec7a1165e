#include "server/blocks/received.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(server_blocks, runs_that_touch_become_one) {
    Received received;
    received.add({0, 10});
    received.add({20, 30});
    EXPECT_EQ(to_text(received), "0-10,20-30");
    EXPECT_THAT(received.gaps(), ElementsAre(BlockRun{10, 20}));
    EXPECT_THAT(received.missing_in({5, 25}), ElementsAre(BlockRun{10, 20}));
    EXPECT_THAT(received.missing_in({3, 8}), IsEmpty());
    received.add({10, 20});
    EXPECT_EQ(to_text(received), "0-30");
    EXPECT_EQ(received.end(), 30U);
}

TEST(server_blocks, numbers_are_the_same_as_in_a_set) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 300; ++round) {
        Received received;
        std::set<uint64_t> wanted;
        for (int step = 0; step < 40; ++step) {
            const uint64_t first = random() % 120;
            const BlockRun run{first, first + random() % 9};
            std::set<uint64_t> missing, told;
            for (uint64_t i = run.first; i < run.end; ++i)
                if (!wanted.contains(i)) missing.insert(i);
            for (const BlockRun& part : received.missing_in(run))
                for (uint64_t i = part.first; i < part.end; ++i) told.insert(i);
            ASSERT_EQ(told, missing);
            received.add(run);
            for (uint64_t i = run.first; i < run.end; ++i) wanted.insert(i);
        }
        std::set<uint64_t> there;
        for (const BlockRun& run : received.runs())
            for (uint64_t i = run.first; i < run.end; ++i) there.insert(i);
        ASSERT_EQ(there, wanted);
        ASSERT_EQ(parse_received(to_text(received)).value(), received);
    }
}

TEST(server_blocks, a_stream_full_of_gaps_takes_bounded_memory) {
    Received received;
    for (uint64_t i = 0; i < 10 * Received::kMaxRuns; ++i) received.add({2 * i, 2 * i + 1});
    EXPECT_EQ(received.runs().size(), Received::kMaxRuns);
    EXPECT_EQ(received.end(), 2 * 10 * Received::kMaxRuns - 1);
    EXPECT_THAT(received.missing_in({1, 2}), IsEmpty()) << "the oldest gaps were given up";
}

TEST(server_blocks, a_text_that_is_not_of_runs_is_refused) {
    for (const char* text : {"1", "1-", "-2", "2-1", "1-1", "1-2,", "1-2,2-3", "3-4,1-2", "1-2 ", "01-2",
                             "1-99999999999999999999"})
        EXPECT_FALSE(parse_received(text)) << text;
    EXPECT_EQ(parse_received("").value(), Received());
}

}  // namespace
}  // namespace belay::server
