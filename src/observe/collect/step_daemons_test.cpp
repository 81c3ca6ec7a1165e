#include "observe/collect/step_daemons.h"

#include <gtest/gtest.h>

namespace belay::observe::collect {
namespace {

using namespace std::string_view_literals;

TEST(observe_collect, a_title_names_a_step) {
    EXPECT_EQ(parse_step_title("slurmstepd: [12.0]\0\0\0"sv), (StepName{12, "0"}));
    EXPECT_EQ(parse_step_title("slurmstepd: [12.batch]     "), (StepName{12, "batch"}));
    EXPECT_EQ(parse_step_title("slurmstepd: [12.extern]"), (StepName{12, "extern"}));
    EXPECT_EQ(parse_step_title("slurmstepd: [12.interactive]"), (StepName{12, "interactive"}));
    EXPECT_EQ(parse_step_title("slurmstepd: [12.3+1]"), (StepName{12, "3"}));
}

TEST(observe_collect, any_other_title_names_none) {
    for (std::string_view title :
         {"", "slurmstepd", "slurmstepd: ", "slurmstepd: [12.0", "slurmstepd: [12]", "slurmstepd: [.0]",
          "slurmstepd: [12.]", "slurmstepd: [-12.0]", "slurmstepd: [0.0]", "slurmstepd: [12.-1]",
          "slurmstepd: [12.batches]", "slurmstepd: [12.0+]", "slurmstepd: [12.0+x]", "slurmstepd: [12.0.1]",
          "slurmstepd: [12345678901234567890.0]", "slurmstepd: [12.4294967296]", " slurmstepd: [12.0]",
          "slurmd: [12.0]"})
        EXPECT_FALSE(parse_step_title(title)) << title;
}

TEST(observe_collect, a_step_is_of_the_node_that_its_tasks_name) {
    StepOnNode step{.name = {1, "0"}};
    EXPECT_FALSE(step.is_of("n1")) << "not known yet";
    step.is_hidden = true;
    EXPECT_TRUE(step.is_of("n1")) << "who may not look takes all";
    step.environment = core::Environment{{"SLURMD_NODENAME", "n1"}};
    EXPECT_TRUE(step.is_of("n1"));
    EXPECT_FALSE(step.is_of("n2"));
    EXPECT_FALSE(step.is_of_other_cluster("alps")) << "it does not say";
    step.environment->emplace("SLURM_CLUSTER_NAME", "alps");
    EXPECT_FALSE(step.is_of_other_cluster("alps"));
    EXPECT_TRUE(step.is_of_other_cluster("eiger"));
}

}  // namespace
}  // namespace belay::observe::collect
