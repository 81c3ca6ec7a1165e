#include "server/packed/block_runs.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(server_packed, runs_are_those_of_a_set_of_numbers) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        BlockRuns runs;
        std::set<uint64_t> numbers;
        for (int i = 0; i < 30; ++i) {
            const uint64_t first = random() % 100, end = first + random() % 8;
            runs.add({first, end});
            for (uint64_t n = first; n < end; ++n) numbers.insert(n);
            uint64_t count = 0;
            for (size_t j = 0; j < runs.runs().size(); ++j) {
                const BlockRun& run = runs.runs()[j];
                ASSERT_FALSE(run.is_empty());
                if (j > 0) {
                    ASSERT_LT(runs.runs()[j - 1].end, run.first);
                }
                for (uint64_t n = run.first; n < run.end; ++n) ASSERT_TRUE(numbers.contains(n));
                count += run.size();
            }
            ASSERT_EQ(count, numbers.size());
            ASSERT_EQ(count, runs.count());
        }
        const uint64_t first = random() % 100, end = first + random() % 40;
        std::set<uint64_t> missing;
        for (uint64_t n = first; n < end; ++n)
            if (!numbers.contains(n)) missing.insert(n);
        std::set<uint64_t> said;
        for (const BlockRun& run : runs.missing_in({first, end}))
            for (uint64_t n = run.first; n < run.end; ++n) said.insert(n);
        EXPECT_EQ(said, missing);
        EXPECT_EQ(parse_block_runs(to_text(runs)).value(), runs);
    }
}

TEST(server_packed, runs_beyond_the_bound_are_forgotten_as_missing) {
    BlockRuns runs;
    for (uint64_t i = 0; i <= BlockRuns::kMaxRuns; ++i) runs.add({2 * i, 2 * i + 1});
    EXPECT_LE(runs.runs().size(), BlockRuns::kMaxRuns);
    EXPECT_THAT(runs.missing_in({0, 1}), ElementsAre(BlockRun{0, 1}));
    EXPECT_THAT(runs.missing_in({2 * BlockRuns::kMaxRuns, 2 * BlockRuns::kMaxRuns + 1}), IsEmpty());
}

TEST(server_packed, a_text_that_nobody_wrote_is_no_list_of_runs) {
    for (const char* text : {"1", "1-1", "2-1", "1-2,2-3", "3-4,1-2", "1-2,", "-", "1-2,a-b", " 1-2", "01-2"})
        EXPECT_FALSE(parse_block_runs(text)) << text;
    EXPECT_TRUE(parse_block_runs("")->is_empty());
}

}  // namespace
}  // namespace belay::server
