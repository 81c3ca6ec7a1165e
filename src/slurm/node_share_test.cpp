#include "slurm/node_share.h"

#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

TEST(slurm, what_a_task_says_of_its_part_of_the_node) {
    const NodeShare share = read_node_share(
        {{"SLURM_RESTART_COUNT", "2"}, {"SLURM_CPUS_ON_NODE", "72"}, {"SLURM_GTIDS", "7,2,3"}});
    EXPECT_EQ(share.restart, 2);
    EXPECT_EQ(share.cpus, 72);
    EXPECT_EQ(share.tasks, 3);
    EXPECT_EQ(share.first_task, 2);
}

TEST(slurm, what_is_not_said_or_is_not_a_number_is_missing) {
    EXPECT_FALSE(read_node_share({}).cpus);
    EXPECT_FALSE(read_node_share({}).restart);
    const NodeShare share = read_node_share({{"SLURM_CPUS_ON_NODE", "many"}, {"SLURM_GTIDS", "1,x"}});
    EXPECT_FALSE(share.cpus);
    EXPECT_FALSE(share.tasks);
    EXPECT_FALSE(share.first_task) << "a part of a list says nothing of the whole";
    EXPECT_FALSE(read_node_share({{"SLURM_GTIDS", ""}}).tasks);
}

}  // namespace
}  // namespace belay::slurm
