#include "observe/cgroup/hierarchies.h"

#include "observe/cgroup/fake_cgroups.h"

#include <gmock/gmock.h>

namespace belay::observe::cgroup {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(observe_cgroup, a_host_of_version_2_has_one_hierarchy) {
    FakeCgroups host;
    host.mount_unified();
    host.write("memory/cgroup.procs", "");  // a cgroup that happens to be called so
    const auto found = find_hierarchies(host.root());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].version, Version::kUnified);
    EXPECT_EQ(found[0].each.size(), 1U);
}

TEST(observe_cgroup, hierarchies_of_version_1_that_share_controllers_are_one) {
    FakeCgroups host;
    for (const char* name : {"memory", "cpu,cpuacct", "systemd", "cpuset"})
        host.write(fs::path(name) / "tasks", "");
    fs::create_directory_symlink("cpu,cpuacct", host.root() / "cpu");
    fs::create_directory_symlink("cpu,cpuacct", host.root() / "cpuacct");
    const auto found = find_hierarchies(host.root());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].version, Version::kLegacy);
    ASSERT_EQ(found[0].each.size(), 3U);
    EXPECT_THAT(found[0].each[0].controllers, ElementsAre("memory")) << "the first tells most";
    EXPECT_THAT(found[0].each[1].controllers, ElementsAre("cpu", "cpuacct"));
    EXPECT_THAT(found[0].each[2].controllers, ElementsAre("cpuset"));
}

TEST(observe_cgroup, a_hybrid_host_has_both_versions) {
    FakeCgroups host;
    host.mount_unified("unified");
    host.write("memory/tasks", "");
    const auto found = find_hierarchies(host.root());
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].version, Version::kUnified);
    EXPECT_EQ(found[1].version, Version::kLegacy);
    EXPECT_THAT(find_hierarchies(host.root() / "nowhere"), IsEmpty());
}

TEST(observe_cgroup, slurms_own_directories_are_found_in_slices_and_of_several_slurmd) {
    FakeCgroups host;
    host.mount_unified();
    for (const char* path : {"system.slice/n1_slurmstepd.scope", "system.slice/n2_slurmstepd.scope",
                             "hpc.slice/hpc-batch.slice/slurmstepd.scope", "init.scope/slurmstepd.scope",
                             "user.slice/user@1.service/slurmstepd.scope"})
        host.write(fs::path(path) / "cgroup.procs", "");
    host.write("system.slice/slurmstepd.scope", "no directory");
    EXPECT_THAT(slurm_tops(find_hierarchies(host.root()).front()),
                ElementsAre("hpc.slice/hpc-batch.slice/slurmstepd.scope", "system.slice/n1_slurmstepd.scope",
                            "system.slice/n2_slurmstepd.scope"));
}

TEST(observe_cgroup, of_version_1_each_hierarchy_may_have_what_others_lack) {
    FakeCgroups host;
    host.write("freezer/slurm/tasks", "");
    host.write("freezer/slurm_n2/tasks", "");
    host.write("memory/slurm/tasks", "");
    host.write("memory/docker/tasks", "");
    EXPECT_THAT(slurm_tops(find_hierarchies(host.root()).front()), ElementsAre("slurm", "slurm_n2"));
}

}  // namespace
}  // namespace belay::observe::cgroup
