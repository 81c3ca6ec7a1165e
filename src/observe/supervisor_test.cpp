#include "observe/supervisor.h"

#include <gtest/gtest.h>

namespace belay::observe {

TEST(observe, a_step_of_slurm_is_known_by_its_cgroup) {
    EXPECT_TRUE(is_in_step_cgroup("0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_0\n"));
    EXPECT_TRUE(is_in_step_cgroup("4:freezer:/slurm_n1/uid_0/job_12/step_3\n0::/init.scope\n"));
    EXPECT_FALSE(is_in_step_cgroup("0::/user.slice/user-0.slice/session-1.scope\n"));
    EXPECT_FALSE(is_in_step_cgroup("5:cpuset:/step_0\n4:freezer:/job_1\n"));
    EXPECT_FALSE(is_in_step_cgroup(""));
}

}  // namespace belay::observe
