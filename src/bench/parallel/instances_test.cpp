#include "bench/parallel/instances.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

core::Environment allocation(const char* nodes, const char* tasks) {
    return {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NUM_NODES", nodes}, {"SLURM_NTASKS", tasks}};
}

core::Result<std::vector<Instance>> plan(const core::Environment& environment, int count,
                                         std::vector<std::string> training = {"belay-train", "line"}) {
    return plan_instances(environment, count, "out", training);
}

TEST(bench, instances_share_the_nodes_of_an_allocation) {
    auto environment = allocation("4", "8");
    environment["SLURM_CPUS_PER_TASK"] = "3";
    auto instances = plan(environment, 2, {"belay-train", "line", "--seed", "5", "--epochs", "2"});
    ASSERT_TRUE(instances) << instances.error().message();
    ASSERT_EQ(instances->size(), 2u);
    EXPECT_THAT((*instances)[1].argv,
                ElementsAre("srun", "--exact", "--kill-on-bad-exit", "--mem=0", "--nodes=2", "--ntasks=4",
                            "--cpus-per-task=3", "--output=out/result_1.txt", "belay-train", "line",
                            "--epochs", "2", "--seed", "6"));
    EXPECT_EQ((*instances)[0].argv.back(), "5");
    EXPECT_EQ((*instances)[0].output, "out/result_0.txt");
}

TEST(bench, instances_share_a_node) {
    auto instances = plan(allocation("2", "4"), 4, {"belay-train", "line", "--seed=9"});
    ASSERT_TRUE(instances) << instances.error().message();
    EXPECT_EQ(instances->size(), 4u);
    EXPECT_THAT((*instances)[3].argv, testing::Contains("--nodes=1"));
    EXPECT_THAT((*instances)[3].argv, testing::Contains("--ntasks=1"));
    EXPECT_EQ((*instances)[3].argv.back(), "12");
}

TEST(bench, instances_that_cannot_share_are_refused) {
    auto refusal = [](const auto& planned) { return planned ? "" : planned.error().render(); };
    EXPECT_THAT(refusal(plan({}, 2)), HasSubstr("not within an allocation"));
    EXPECT_THAT(refusal(plan(allocation("4", "12"), 3)),
                HasSubstr("3 instances cannot share 4 nodes evenly"));
    EXPECT_THAT(refusal(plan(allocation("2", "3"), 2)), HasSubstr("2 instances cannot share 3 tasks evenly"));
    EXPECT_THAT(refusal(plan(allocation("x", "4"), 2)), HasSubstr("SLURM_JOB_NUM_NODES: \"x\""));
    EXPECT_THAT(refusal(plan(allocation("2", "2"), 2, {"t", "line", "--seed", "one"})),
                HasSubstr("--seed: \"one\""));
}

}  // namespace
}  // namespace belay::bench
