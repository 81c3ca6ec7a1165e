#include "stage/space/memory_room.h"

#include "core/file.h"
#include "stage/space/cpu_memory.h"
#include "stage/space/space.h"

#include <filesystem>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class stage_memory : public testing::Test {
  protected:
    void write(const fs::path& name, std::string_view text) {
        fs::create_directories((root / name).parent_path());
        ASSERT_TRUE(core::replace_file(root / name, text));
    }
    MemoryRoom room() const {
        return memory_room({.proc = root / "proc", .cgroup = root / "cgroup"}).value();
    }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    fs::path root = directory.path();
};

TEST_F(stage_memory, the_lowest_limit_above_counts_and_what_all_steps_of_the_job_hold) {
    write("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_0\n");
    write("cgroup/system.slice/slurmstepd.scope/job_3/step_0/user/task_0/memory.max", "max\n");
    write("cgroup/system.slice/slurmstepd.scope/job_3/step_0/memory.max", "9000\n");
    write("cgroup/system.slice/slurmstepd.scope/job_3/memory.max", "8000\n");
    write("cgroup/system.slice/slurmstepd.scope/job_3/memory.stat",
          "anon 5\nfile 600\nshmem 500\nshmem_thp 1\n");
    write("cgroup/system.slice/slurmstepd.scope/job_3/step_0/memory.stat", "shmem 7\n");
    EXPECT_EQ(room().limit, 8000U);
    EXPECT_EQ(room().held, 500U);
    EXPECT_EQ(room().of, "the job");
}

TEST_F(stage_memory, version_1_is_read_likewise) {
    write("proc/self/cgroup", "9:cpuset:/slurm/x\n4:cpu,memory:/slurm/uid_7/job_3/step_0\n0::/\n");
    write("cgroup/memory/slurm/uid_7/job_3/step_0/memory.limit_in_bytes", "9223372036854771712\n");
    write("cgroup/memory/slurm/uid_7/job_3/memory.limit_in_bytes", "8000\n");
    write("cgroup/memory/slurm/uid_7/job_3/memory.stat",
          "cache 5\nshmem 1\ntotal_cache 6\ntotal_shmem 400\n");
    EXPECT_EQ(room().limit, 8000U);
    EXPECT_EQ(room().held, 400U);
}

TEST_F(stage_memory, without_a_limit_it_is_that_of_the_node) {
    write("proc/meminfo",
          "MemTotal:       1000 kB\nMemFree: 5 kB\nShmem:             100 kB\nShmemHugePages: 7 kB\n");
    EXPECT_EQ(room().limit, 1000U * 1024);
    EXPECT_EQ(room().held, 100U * 1024);
    EXPECT_EQ(room().of, "the node");
    write("proc/self/cgroup", "0::/user.slice\n");
    write("cgroup/user.slice/memory.max", "max\n");
    EXPECT_EQ(room().of, "the node");
    write("proc/self/cgroup", "not\na:cgroup\n::\n");
    EXPECT_EQ(room().of, "the node");
    fs::remove(root / "proc/meminfo");
    EXPECT_FALSE(memory_room({.proc = root / "proc", .cgroup = root / "cgroup"}));
}

// Of this machine: /dev/shm is memory on every Linux.
TEST_F(stage_memory, files_in_memory_must_fit_into_the_share) {
    const auto memory = core::Directory::open("/dev/shm").value();
    ASSERT_TRUE(is_in_memory(memory));
    EXPECT_TRUE(check_space(memory, {.bytes = 4096, .memory_share = 0.99}));
    const auto refused = check_space(memory, {.bytes = uint64_t{1} << 20, .memory_share = 1e-9});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), core::Cause::kNoSpace);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("files there take memory"));
}

TEST_F(stage_memory, nodes_of_memory_without_cpus_are_left_out) {
    write("node/has_memory", "0-1,4\n");
    write("node/has_cpu", "0-3\n");
    EXPECT_THAT(cpu_memory_nodes(root / "node"), ElementsAre(0, 1));
    write("node/has_memory", "0-1\n");
    EXPECT_THAT(cpu_memory_nodes(root / "node"), IsEmpty()) << "there is nothing to choose";
    EXPECT_THAT(cpu_memory_nodes(root / "nowhere"), IsEmpty());
}

int policy_of_this_thread() {
    int policy = -1;
    return syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) == 0 ? policy : -1;
}

TEST_F(stage_memory, a_thread_is_bound_and_freed_again) {
    if (policy_of_this_thread() != MPOL_DEFAULT) GTEST_SKIP() << "this kernel has no memory policies";
    {
        const CpuMemory bound({0});
        ASSERT_TRUE(bound.is_bound());
        EXPECT_EQ(policy_of_this_thread(), MPOL_BIND);
        const CpuMemory again({0});
        EXPECT_FALSE(again.is_bound()) << "whoever has a policy keeps it";
    }
    EXPECT_EQ(policy_of_this_thread(), MPOL_DEFAULT);
    EXPECT_FALSE(CpuMemory({}).is_bound());
}

}  // namespace
}  // namespace belay::stage
