#include "observe/collect/fake_processes.h"

#include <tuple>

#include <gtest/gtest.h>

namespace belay::observe::collect {
namespace {

using namespace testing;

using Owned = std::vector<std::tuple<int64_t, int64_t, std::string>>;

// Of each member: its id, job and step.
Owned owners(JobProcesses& job, int64_t second) {
    members(job, second);
    Owned owned;
    for (const JobProcess& process : job.members())
        owned.emplace_back(process.stat.pid, process.job_id.value_or(0), process.step_id.value_or("batch"));
    return owned;
}

TEST(observe_collect, every_step_of_the_node_has_its_processes) {
    FakeProcesses fake;
    fake.start(10, {.command = "slurmd"});
    fake.start(20, FakeProcesses::step_daemon("7.batch"));
    fake.start(21, {.parent = 20, .command = "bash"});
    fake.start(30, FakeProcesses::step_daemon("7.0"));
    fake.start(31, {.parent = 30});
    fake.start(40, FakeProcesses::step_daemon("8.0"));
    fake.start(41, {.parent = 40});
    fake.start(50, {.parent = 10, .command = "slurmd"});  // about to run slurmstepd
    JobProcesses job = fake.follow({.all_steps = true});
    EXPECT_EQ(owners(job, 1), (Owned{{21, 7, "batch"}, {31, 7, "0"}, {41, 8, "0"}}));
    ASSERT_EQ(job.steps().size(), 3U);
    EXPECT_EQ(job.steps()[1].name, (StepName{7, "0"}));
    EXPECT_EQ(job.steps()[1].start_ticks, 30);

    fake.start(32, {.parent = 31});
    fake.start(50, FakeProcesses::step_daemon("9.0"));
    fake.start(51, FakeProcesses::step_daemon("9.0", 50));  // a task that does not run its program yet
    EXPECT_EQ(owners(job, 2),
              (Owned{{21, 7, "batch"}, {31, 7, "0"}, {32, 7, "0"}, {41, 8, "0"}, {51, 9, "0"}}));
    EXPECT_EQ(job.steps().size(), 4U);

    fake.end(31);  // its child stays in the step
    fake.start(32, {.parent = 1});
    fake.end(40);
    fake.end(41);
    fake.start(51, {.parent = 50});
    EXPECT_EQ(owners(job, 3), (Owned{{21, 7, "batch"}, {32, 7, "0"}, {51, 9, "0"}}));
    EXPECT_EQ(job.steps().size(), 3U) << "a step ends with its daemon";
    FakeProcesses::Process ended = FakeProcesses::step_daemon("9.0");
    ended.state = 'Z';
    ended.title.clear();
    fake.start(50, ended);
    members(job, 4);
    EXPECT_EQ(job.steps().size(), 2U) << "also where nobody has waited for it";
}

TEST(observe_collect, steps_of_other_nodes_on_the_machine_do_not_count) {
    FakeProcesses fake;
    fake.start(20, FakeProcesses::step_daemon("7.0"));
    fake.start(21, {.parent = 20, .command = "slurmstepd", .environment = std::string("SLURM_CONF=x\0", 13)});
    fake.start(30, FakeProcesses::step_daemon("7.1"));
    fake.start(31, {.parent = 30, .environment = FakeProcesses::environment_of("7", "n2")});
    JobProcesses job = fake.follow({.all_steps = true, .node = "n1"});
    EXPECT_EQ(owners(job, 1), Owned{}) << "of one nothing is known yet";
    EXPECT_TRUE(job.steps().empty());
    fake.start(21, {.parent = 20, .environment = FakeProcesses::environment_of("7", "n1")});
    EXPECT_EQ(owners(job, 2), (Owned{{21, 7, "0"}}));
    ASSERT_EQ(job.steps().size(), 1U);
    EXPECT_EQ(job.steps()[0].environment,
              (core::Environment{{"SLURM_JOB_ID", "7"}, {"SLURMD_NODENAME", "n1"}}))
        << "and nothing else of it is kept";
}

TEST(observe_collect, a_program_called_as_the_daemon_is_none) {
    FakeProcesses fake;
    fake.start(20, FakeProcesses::step_daemon("7.0"));
    fake.start(21, {.parent = 20, .command = "slurmstepd", .title = "slurmstepd"});
    fake.start(30, {.command = "slurmstepd", .title = "slurmstepd"});
    fake.start(31, {.parent = 30});
    JobProcesses job = fake.follow({.all_steps = true});
    EXPECT_EQ(owners(job, 1), (Owned{{21, 7, "0"}}));
    fake.start(30, FakeProcesses::step_daemon("8.batch"));  // it has given itself its title
    fake.start(32, {.parent = 30});
    EXPECT_EQ(owners(job, 2), (Owned{{21, 7, "0"}, {32, 8, "batch"}}));
    FakeProcesses::Process forged = FakeProcesses::step_daemon("9.0");
    forged.program = "other";  // with the name and title of the daemon
    fake.start(40, forged);
    fake.start(41, {.parent = 40});
    EXPECT_EQ(owners(job, 3), (Owned{{21, 7, "0"}, {32, 8, "batch"}}));
}

}  // namespace
}  // namespace belay::observe::collect
