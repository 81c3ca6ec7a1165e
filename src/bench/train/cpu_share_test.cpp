#include "bench/train/cpu_share.h"

#include "bench/train/test_ranks.h"

#include <sched.h>

namespace belay::bench {
namespace {

TEST(bench, cpus_are_shared_by_the_ranks_that_may_use_the_same_ones) {
    Group alone;
    const auto all = cpu_share(alone);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->with.ranks, 1);
    EXPECT_EQ(all->threads(), static_cast<int>(all->usable.size()));
    Ranks(3).run([&](Group& group) {
        const auto share = cpu_share(group);
        ASSERT_TRUE(share);
        EXPECT_EQ(share->with.ranks, 3);
        EXPECT_EQ(share->with.number, group.rank());
        EXPECT_EQ(share->threads(), std::max(1, static_cast<int>(all->usable.size()) / 3));
    });
}

TEST(bench, ranks_that_are_bound_to_their_own_cpus_share_with_nobody) {
    Group alone;
    const std::vector<int> usable = cpu_share(alone).value().usable;
    if (usable.size() < 2) GTEST_SKIP() << "needs two CPUs";
    Ranks(2).run([&](Group& group) {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(usable[static_cast<size_t>(group.rank())], &own);
        ASSERT_EQ(sched_setaffinity(0, sizeof own, &own), 0);  // of this thread
        const auto share = cpu_share(group);
        ASSERT_TRUE(share);
        EXPECT_EQ(share->with.ranks, 1);
        EXPECT_EQ(share->usable, std::vector<int>{usable[static_cast<size_t>(group.rank())]});
        EXPECT_EQ(share->threads(), 1);
    });
}

}  // namespace
}  // namespace belay::bench
