#include "bench/train/group.h"

#include "bench/train/test_ranks.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::HasSubstr;

TEST(bench, group_sums_broadcasts_and_gathers) {
    Ranks(3).run([](Group& group) {
        auto rank = static_cast<float>(group.rank());
        std::vector<float> values = {rank, 1, -rank};
        ASSERT_TRUE(group.sum(std::span(values)));
        EXPECT_THAT(values, testing::ElementsAre(3, 3, -3));
        std::vector<double> sums = {0.5};
        ASSERT_TRUE(group.sum(std::span(sums)));
        EXPECT_EQ(sums[0], 1.5);
        std::vector<float> mine(5, rank + 7);
        ASSERT_TRUE(group.broadcast(mine));
        EXPECT_THAT(mine, testing::Each(7));
        EXPECT_THAT(*group.gather(~uint64_t{0} - static_cast<uint64_t>(group.rank())),
                    testing::ElementsAre(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2));
        EXPECT_TRUE(group.barrier());
    });
}

// More values than one bucket holds.
TEST(bench, group_sums_in_buckets) {
    Ranks(2).run([](Group& group) {
        std::vector<float> values((size_t{26} << 20) / sizeof(float), 1.5F);
        ASSERT_TRUE(group.sum(std::span(values)));
        EXPECT_EQ(values.front(), 3);
        EXPECT_EQ(values.back(), 3);
    });
}

TEST(bench, group_sums_while_others_are_under_way) {
    Ranks(3).run([](Group& group) {
        std::vector<float> values(30, static_cast<float>(group.rank() + 1));
        std::vector<Group::Sum> sums;
        for (size_t start = 0; start < values.size(); start += 10) {
            auto sum = group.start_sum(std::span(values).subspan(start, 10));
            ASSERT_TRUE(sum) << sum.error().message();
            sums.push_back(std::move(*sum));
        }
        for (Group::Sum& sum : sums) ASSERT_TRUE(sum.wait());
        EXPECT_THAT(values, testing::Each(6));
        EXPECT_TRUE(sums[0].wait()) << "a second time there is nothing to wait for";
    });
}

TEST(bench, group_divides_into_groups_of_neighbours) {
    Ranks(4).run([](Group& group) {
        auto pair = group.divide(2);
        ASSERT_TRUE(pair) << pair.error().message();
        EXPECT_EQ(pair->rank(), group.rank() % 2);
        EXPECT_EQ(pair->size(), 2);
        const std::vector<float> mine = {static_cast<float>(group.rank()), -1};
        std::vector<float> of_neighbour(2), all(4);
        for (int round = 0; round < 3; ++round) {
            ASSERT_TRUE(pair->exchange(mine, of_neighbour, 1 - pair->rank()));
            EXPECT_EQ(of_neighbour[0], static_cast<float>(group.rank() ^ 1));
        }
        ASSERT_TRUE(pair->gather(mine, all));
        const auto even = static_cast<float>(group.rank() / 2 * 2);
        EXPECT_THAT(all, testing::ElementsAre(even, -1, even + 1, -1));
        std::vector<float> sum = {1};
        ASSERT_TRUE(group.sum(std::span(sum))) << "the whole group is as it was";
        EXPECT_EQ(sum[0], 4);
        ASSERT_TRUE(group.barrier());
    });
}

TEST(bench, group_reports_a_lost_rank) {
    Ranks(2).run([](Group& group) {
        ASSERT_TRUE(group.barrier());
        if (group.rank() == 1) return;  // its group goes, as if the process had
        std::vector<float> values(1000);
        auto sum = group.sum(std::span(values));
        ASSERT_FALSE(sum);
        EXPECT_THAT(sum.error().message(), HasSubstr("lost contact with another rank"));
        EXPECT_EQ(sum.error().message().find('\n'), std::string::npos);
        EXPECT_EQ(sum.error().exit_status(), 3);
        EXPECT_EQ(sum.error().cause(), core::Cause::kUnreachable) << sum.error().message();
    });
}

TEST(bench, group_that_meets_by_a_file_is_not_told_of_ports) {
    auto directory = core::TemporaryDirectory::create().value();
    const Rendezvous rendezvous{.file = directory.path() / "meet", .local_address = "127.0.0.1"};
    auto alone = Group::connect({.launcher = Launcher::kVariables, .rank = 0, .size = 2}, rendezvous,
                                {.timeout = std::chrono::milliseconds(100), .grace = {}});
    ASSERT_FALSE(alone);
    EXPECT_THAT(alone.error().message(), HasSubstr("no meeting at " + rendezvous.file.string()));
    EXPECT_EQ(alone.error().hint_text(), "");
}

TEST(bench, group_of_one_needs_no_meeting) {
    Group group;
    std::vector<float> values = {2};
    EXPECT_TRUE(group.sum(std::span(values)));
    EXPECT_EQ(values[0], 2);
    EXPECT_THAT(*group.gather(5), testing::ElementsAre(5));
}

TEST(bench, group_has_nobody_in_it_who_does_not_know_its_secret) {
    Ranks friends(3);
    friends.introduction = [](int) { return Introduction{.secret = "ours", .credentials = {}}; };
    friends.run([](core::Result<Group> group) { EXPECT_TRUE(group) << group.error().message(); });

    Ranks stranger(3);
    stranger.introduction = [](int rank) {
        return Introduction{.secret = rank == 1 ? "guessed" : "ours", .credentials = {}};
    };
    stranger.run([](core::Result<Group> group) {
        ASSERT_FALSE(group);
        EXPECT_EQ(group.error().cause(), core::Cause::kDenied);
        EXPECT_THAT(group.error().message(), testing::HasSubstr("does not know the secret of this run"));
    });
}

TEST(bench, group_that_is_divided_asks_for_proof_again) {
    Ranks ranks(4);
    ranks.introduction = [](int) { return Introduction{.secret = "ours", .credentials = {}}; };
    ranks.run([](Group& group) {
        auto part = group.divide(2);
        ASSERT_TRUE(part) << part.error().message();
        EXPECT_EQ(part->size(), 2);
    });
}

}  // namespace
}  // namespace belay::bench
