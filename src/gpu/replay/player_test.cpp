#include "gpu/replay/player.h"

#include <gtest/gtest.h>

namespace belay::gpu::replay {
namespace {

Trace two_rows() {
    Trace trace;
    trace.devices.push_back({.uuid = "GPU-1"});
    for (double seconds : {1.0, 3.0}) {
        TraceRow row{.seconds = seconds};
        row.reading[field("sm_active_ratio")] = seconds / 10;
        trace.rows.push_back(row);
    }
    return trace;
}

TEST(gpu, player_holds_the_row_before) {
    Player player(two_rows());
    EXPECT_EQ(player.at(0, 0.9), nullptr);
    EXPECT_EQ((*player.at(0, 1))[field("sm_active_ratio")], 0.1);
    EXPECT_EQ((*player.at(0, 2.9))[field("sm_active_ratio")], 0.1);
    EXPECT_EQ((*player.at(0, 99))[field("sm_active_ratio")], 0.3);
}

TEST(gpu, player_averages_over_time) {
    Player player(two_rows());
    EXPECT_NEAR(player.mean(0, field("sm_active_ratio"), 0, 3), (0.1 * 1 + 0.3 * 2) / 3, 1e-12);
    EXPECT_EQ(player.mean(0, field("sm_active_ratio"), 1, 3), 0.3);
    EXPECT_EQ(player.mean(0, field("sm_active_ratio"), 1.2, 1.4), 0.3) << "the row that covers it";
    EXPECT_EQ(player.mean(0, field("sm_active_ratio"), 5, 6), 0.3);
    EXPECT_TRUE(std::isnan(player.mean(0, field("tensor_active_ratio"), 0, 3)));
}

TEST(gpu, player_stands_where_it_is_put) {
    Player player(two_rows(), 1000);
    player.stand_at(2);
    EXPECT_EQ(player.now(), 2);
}

}  // namespace
}  // namespace belay::gpu::replay
