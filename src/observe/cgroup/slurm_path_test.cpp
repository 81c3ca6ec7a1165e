#include "observe/cgroup/slurm_path.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::observe::cgroup {
namespace {

std::optional<SlurmPath> unified(std::string_view path) {
    return parse_slurm_path(Version::kUnified, path);
}
std::optional<SlurmPath> legacy(std::string_view path) {
    return parse_slurm_path(Version::kLegacy, path);
}

TEST(observe_cgroup, a_path_of_version_2_tells_job_step_and_task) {
    const std::string top = "/system.slice/slurmstepd.scope";
    EXPECT_EQ(unified(top), (SlurmPath{.level = Level::kTop}));
    EXPECT_EQ(unified(top + "/job_7"), (SlurmPath{.level = Level::kJob, .job_id = 7}));
    EXPECT_EQ(unified(top + "/job_7/step_0"), (SlurmPath{.level = Level::kStep, .job_id = 7, .step = "0"}));
    EXPECT_EQ(unified(top + "/job_7/step_batch/user"),
              (SlurmPath{.level = Level::kTasks, .job_id = 7, .step = "batch"}));
    EXPECT_EQ(unified(top + "/job_7/step_interactive/slurm"),
              (SlurmPath{.level = Level::kDaemon, .job_id = 7, .step = "interactive"}));
    EXPECT_EQ(unified(top + "/job_4294967000/step_12/user/task_127"),
              (SlurmPath{.level = Level::kTask, .job_id = 4'294'967'000, .step = "12", .task = 127}));
    EXPECT_EQ(unified(top + "/job_7/step_extern/user/task_special"),
              (SlurmPath{.level = Level::kTask, .job_id = 7, .step = "extern"}));
}

TEST(observe_cgroup, a_path_of_version_1_has_its_user_too) {
    EXPECT_EQ(legacy("/slurm"), (SlurmPath{.level = Level::kTop}));
    EXPECT_EQ(legacy("/slurm/uid_1000"), (SlurmPath{.level = Level::kOwner}));
    EXPECT_EQ(legacy("/slurm/uid_0/job_3"), (SlurmPath{.level = Level::kJob, .job_id = 3}));
    EXPECT_EQ(legacy("slurm_n1/uid_7/job_3/step_batch/task_0"),
              (SlurmPath{.level = Level::kTask, .node = "n1", .job_id = 3, .step = "batch", .task = 0}));
    EXPECT_EQ(legacy("slurm/uid_7/job_3/step_extern/task_special")->level, Level::kTask);
    EXPECT_EQ(legacy("slurm/uid_7/job_3/step_0/user")->level, Level::kStep) << "it has no such directory";
}

TEST(observe_cgroup, several_slurmd_of_a_machine_are_told_apart) {
    EXPECT_EQ(unified("system.slice/n1_slurmstepd.scope/job_7")->node, "n1");
    EXPECT_EQ(unified("system.slice/gpu_a_slurmstepd.scope")->node, "gpu_a");
    EXPECT_EQ(unified("system.slice/slurmstepd.scope")->node, "");
    EXPECT_EQ(legacy("slurm_gpu_a/uid_1")->node, "gpu_a");
    for (const char* wrong : {"system.slice/_slurmstepd.scope", "system.slice/xslurmstepd.scope",
                              "system.slice/slurmstepd.scope.d", "system.slice/slurmd.service"})
        EXPECT_FALSE(unified(wrong)) << wrong;
    for (const char* wrong : {"slurm_", "slurmd", "docker/slurm/uid_0/job_1", "", "/"})
        EXPECT_FALSE(legacy(wrong)) << wrong;
}

TEST(observe_cgroup, the_slice_is_any_but_nothing_that_a_user_may_make) {
    EXPECT_TRUE(unified("slurmstepd.scope/job_1")) << "of a container that has a cgroup namespace";
    EXPECT_TRUE(unified("hpc.slice/slurmstepd.scope/job_1"));
    EXPECT_TRUE(unified("hpc.slice/hpc-batch.slice/slurmstepd.scope/job_1"));
    EXPECT_FALSE(unified("user.slice/user-1000.slice/user@1000.service/app.slice/slurmstepd.scope/job_1"));
    EXPECT_FALSE(unified("/../../slurmstepd.scope/job_1"));
}

TEST(observe_cgroup, where_slurm_names_jobs_by_its_sluid_a_member_has_to_tell_the_job) {
    const auto job = unified("system.slice/slurmstepd.scope/s5K1KKYAYG5D00");
    EXPECT_EQ(job, (SlurmPath{.level = Level::kJob}));
    EXPECT_TRUE(job->needs_member());
    const auto task = unified("system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_2/user/task_5");
    EXPECT_EQ(task, (SlurmPath{.level = Level::kTask, .step = "2", .task = 5}));
    EXPECT_TRUE(task->needs_member());
    EXPECT_TRUE(unified("system.slice/slurmstepd.scope/job_x/step_2")->needs_member())
        << "whatever its name is";
    EXPECT_FALSE(unified("system.slice/slurmstepd.scope/job_7/step_2")->needs_member());
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/system")->level, Level::kTop)
        << "where slurmstepd waits";
    EXPECT_FALSE(unified("system.slice/slurmstepd.scope/system")->needs_member());
    EXPECT_FALSE(unified("system.slice/slurmstepd.scope/..")->needs_member());
    EXPECT_EQ(legacy("slurm/uid_0/s5K1KKYAYG5D00")->level, Level::kOwner) << "version 1 has none";
}

TEST(observe_cgroup, what_slurm_has_no_name_for_is_part_of_what_is_above_it) {
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_0/user/task_3/podman/c1")->task, 3);
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_x/user/task_3")->level, Level::kJob);
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_0/user/task_-1")->level, Level::kTasks);
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_4294967296")->level, Level::kJob);
    EXPECT_EQ(unified("system.slice//slurmstepd.scope///job_7/")->job_id, 7);
    EXPECT_TRUE(unified("system.slice/slurmstepd.scope/job_0")->needs_member());
}

TEST(observe_cgroup, parts_of_a_heterogeneous_step_are_one_step) {
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_3+1/user/task_0")->step, "3");
    EXPECT_EQ(unified("system.slice/slurmstepd.scope/job_7/step_3+x")->level, Level::kJob);
}

}  // namespace
}  // namespace belay::observe::cgroup
