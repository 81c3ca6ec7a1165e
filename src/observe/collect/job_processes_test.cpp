#include "observe/collect/job_processes.h"

#include "core/text.h"
#include "observe/collect/fake_processes.h"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using namespace std::chrono_literals;

int64_t members_named(JobProcesses& job, std::string_view name) {
    EXPECT_TRUE(job.look(core::system_clock().now()).has_value());
    return std::ranges::count_if(job.members(),
                                 [&](const JobProcess& member) { return member.stat.command == name; });
}

std::optional<int64_t> task_of(JobProcesses& job, int64_t pid) {
    for (const JobProcess& process : job.members())
        if (process.stat.pid == pid) return process.task;
    ADD_FAILURE() << pid << " is not in the job";
    return std::nullopt;
}

TEST(observe_collect, roots_and_their_descendants_are_the_job) {
    FakeProcesses proc;
    proc.start(1, {.parent = 0, .command = "init"});
    proc.start(10, {.command = "sshd"});
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    proc.start(15, {.parent = 21});  // process ids have wrapped around
    proc.start(30, {.parent = 10});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), (Pids{15, 20, 21}));
    EXPECT_EQ(job.members()[1].stat.command, "python");
}

TEST(observe_collect, children_that_come_are_found_and_those_that_go_are_forgotten) {
    FakeProcesses proc;
    proc.start(20, {});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), Pids{20});
    proc.start(21, {.parent = 20});
    proc.start(22, {.parent = 21});
    EXPECT_EQ(members(job, 2), (Pids{20, 21, 22}));
    proc.end(22);
    EXPECT_EQ(members(job, 3), (Pids{20, 21}));
}

TEST(observe_collect, orphans_stay_in_the_job) {
    FakeProcesses proc;
    proc.start(1, {.parent = 0, .command = "init"});
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    proc.start(22, {.parent = 21});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), (Pids{20, 21, 22}));
    proc.end(20);
    proc.end(21);
    proc.start(22, {.parent = 1});
    EXPECT_EQ(members(job, 2), Pids{22});
    EXPECT_EQ(members(job, 100), Pids{22});  // after a refresh too
    proc.start(23, {.parent = 22});
    EXPECT_EQ(members(job, 101), (Pids{22, 23}));
}

TEST(observe_collect, a_child_whose_parent_just_ended_is_still_found) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    JobProcesses job = proc.follow({.roots = {20}});
    members(job, 1);
    proc.end(21);
    proc.start(22, {.parent = 21});  // its stat was read just before the parent ended
    EXPECT_EQ(members(job, 2), (Pids{20, 22}));
}

TEST(observe_collect, a_recycled_id_is_another_process) {
    FakeProcesses proc;
    proc.start(1, {.parent = 0, .command = "init"});
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), (Pids{20, 21}));
    proc.start(21, {.parent = 1, .command = "cron", .start = 5000});
    EXPECT_EQ(members(job, 2), Pids{20});
    proc.start(20, {.parent = 1, .command = "cron", .start = 5001});  // the root itself
    EXPECT_EQ(members(job, 3), Pids{});
}

TEST(observe_collect, refresh_finds_what_a_recycled_id_hid) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(30, {.parent = 1, .command = "cron"});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), Pids{20});
    proc.start(30, {.parent = 20, .start = 5000});
    EXPECT_EQ(members(job, 2), Pids{20});  // was none of the job's, so it is not read at every tick
    EXPECT_EQ(members(job, 61), (Pids{20, 30}));
}

TEST(observe_collect, the_step_is_what_slurmstepd_started) {
    FakeProcesses proc;
    proc.start(1, {.parent = 0, .command = "init"});
    proc.start(50, {.command = "slurmstepd"});
    proc.start(51, {.parent = 50, .command = "bash"});
    proc.start(52, {.parent = 51, .command = "belay", .program = "belay"});
    proc.start(53, {.parent = 52});
    proc.start(54, {.parent = 50, .command = "belay", .program = "belay"});  // the other task's supervisor
    proc.start(55, {.parent = 54});
    proc.start(60, {.command = "slurmstepd"});  // another step on the node
    proc.start(61, {.parent = 60});
    JobProcesses job = proc.follow({.roots = {52}, .step_of = 52, .exclude = {52}});
    EXPECT_EQ(members(job, 1), (Pids{51, 53, 55}));
}

TEST(observe_collect, outside_a_step_the_roots_count) {
    FakeProcesses proc;
    proc.start(1, {.parent = 0, .command = "init"});
    proc.start(20, {});
    JobProcesses job = proc.follow({.roots = {20}, .step_of = 20});
    EXPECT_EQ(members(job, 1), Pids{20});
    JobProcesses nobody = proc.follow({.step_of = 99});
    EXPECT_EQ(members(nobody, 1), Pids{});
}

TEST(observe_collect, excluded_processes_count_as_parents_only) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    proc.start(22, {.parent = 21});
    JobProcesses job = proc.follow({.roots = {20}, .exclude = {20, 21}});
    EXPECT_EQ(members(job, 1), Pids{22});
    proc.start(21, {.parent = 20, .start = 5000});  // a stranger with the excluded id
    EXPECT_EQ(members(job, 2), (Pids{21, 22}));
}

TEST(observe_collect, our_own_program_is_left_out_until_it_becomes_another) {
    FakeProcesses proc;
    proc.start(20, {.command = "belay", .program = "belay"});
    proc.start(21, {.parent = 20, .command = "belay", .program = "belay"});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), Pids{});
    proc.start(21, {.parent = 20, .command = "python", .start = 21});  // exec
    EXPECT_EQ(members(job, 2), Pids{21});
    proc.start(21, {.parent = 20, .command = "belay", .start = 21, .program = "belay"});
    EXPECT_EQ(members(job, 3), Pids{});

    JobProcesses all = proc.follow({.roots = {20}, .exclude_own_executable = false});
    EXPECT_EQ(members(all, 1), (Pids{20, 21}));
}

TEST(observe_collect, our_own_program_is_left_out_when_it_has_ended_too) {
    FakeProcesses proc;
    proc.start(20, {.command = "belay", .program = "belay"});
    proc.start(21, {.parent = 20, .command = "belay", .program = "belay"});
    proc.start(22, {.parent = 20, .command = "python"});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), Pids{22});
    proc.start(23, {.parent = 20, .command = "belay"});  // forked, and ended before it was seen
    proc.start(24, {.parent = 20, .command = "true"});
    proc.start(25, {.parent = 20, .command = "belay-gpu"});  // a helper that found no GPUs
    for (int64_t pid : {20, 21, 22, 23, 24, 25}) proc.become_zombie(pid);
    EXPECT_EQ(members(job, 2), (Pids{22, 24}));
    EXPECT_EQ(members(job, 100), (Pids{22, 24}));  // after a refresh too
}

// Between fork and exec a supervisor's child has the supervisor's name and program, of which one is read
// first.
TEST(observe_collect, no_process_has_our_name_while_it_becomes_another) {
    const std::string comm = core::read_file("/proc/self/comm").value();
    const std::string name(core::trim(comm));
    JobProcesses job("/proc", {.roots = {getpid()}, .exclude = {getpid()}}, std::chrono::seconds(60));
    int seen = 0;
    for (int round = 0; round < 300; ++round) {
        pid_t child = fork();
        if (child == 0) {
            for (volatile int spin = 0; spin < (round % 30) * 3000;) spin = spin + 1;
            execl("/bin/sleep", "sleep", "0.003", nullptr);
            _exit(1);
        }
        for (int look = 0; look < 4; ++look) {
            ASSERT_TRUE(job.look(core::system_clock().now()));
            for (const auto& member : job.members()) {
                EXPECT_NE(member.stat.command, name);
                ++seen;
            }
        }
        waitpid(child, nullptr, 0);
    }
    EXPECT_GT(seen, 0);
}

TEST(observe_collect, no_process_has_our_name_when_it_has_ended) {
    const std::string comm = core::read_file("/proc/self/comm").value();
    JobProcesses job("/proc", {.roots = {getpid()}, .exclude = {getpid()}}, 60s);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    pid_t zombie = fork();
    if (zombie == 0) _exit(0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(members_named(job, core::trim(comm)), 0);  // one runs, one has ended
    kill(child, SIGKILL);
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(members_named(job, core::trim(comm)), 0);  // both have
    for (pid_t pid : {child, zombie}) waitpid(pid, nullptr, 0);
}

std::string environment(std::initializer_list<std::string_view> entries) {
    std::string text;
    for (std::string_view entry : entries) text += std::string(entry) + '\0';
    return text;
}

TEST(observe_collect, the_task_comes_from_the_environment) {
    FakeProcesses proc;
    proc.start(20, {.environment = environment(
                        {"A=SLURM_PROCID=9", "XSLURM_PROCID=8", "SLURM_PROCID=3", "SLURM_PROCID=4"})});
    proc.start(21, {.parent = 20});  // may not be read, or has none: its parent's
    proc.start(22, {.parent = 20, .environment = environment({"SLURM_PROCID=5"})});
    proc.start(23, {.parent = 22, .environment = environment({"SLURM_PROCID=x"})});
    JobProcesses job = proc.follow({.roots = {20}});
    members(job, 1);
    EXPECT_EQ(task_of(job, 20), 3);
    EXPECT_EQ(task_of(job, 21), 3);
    EXPECT_EQ(task_of(job, 22), 5);
    EXPECT_EQ(task_of(job, 23), 5);
}

TEST(observe_collect, the_task_is_found_anywhere_in_a_long_environment) {
    for (size_t padding :
         {size_t{4080}, size_t{4083}, size_t{4090}, size_t{4095}, size_t{4096}, size_t{100'000}}) {
        FakeProcesses proc;
        proc.start(20, {.environment =
                            environment({"P=" + std::string(padding - 3, 'x'), "SLURM_PROCID=17", "Q=1"})});
        JobProcesses job = proc.follow({.roots = {20}});
        members(job, 1);
        EXPECT_EQ(task_of(job, 20), 17) << padding;
    }
}

TEST(observe_collect, the_environment_is_read_once_per_program) {
    FakeProcesses proc;
    proc.start(20, {.environment = environment({"SLURM_PROCID=3"})});
    JobProcesses job = proc.follow({.roots = {20}});
    members(job, 1);
    proc.start(20, {.environment = environment({"SLURM_PROCID=4"})});
    members(job, 2);
    EXPECT_EQ(task_of(job, 20), 3);
    proc.start(20, {.command = "other", .environment = environment({"SLURM_PROCID=4"})});
    members(job, 3);
    EXPECT_EQ(task_of(job, 20), 4);
}

TEST(observe_collect, an_unfinished_environment_tells_nothing) {
    FakeProcesses proc;
    proc.start(20, {.environment = "A=1"});
    proc.start(21, {.parent = 20, .environment = "SLURM_PROCID=12"});  // could be 12 of 123
    proc.start(22,
               {.parent = 20, .environment = environment({"SLURM_PROCID=123456789012345678901234567890"})});
    JobProcesses job = proc.follow({.roots = {20}});
    members(job, 1);
    for (int64_t pid : {20, 21, 22}) EXPECT_FALSE(task_of(job, pid).has_value()) << pid;
}

TEST(observe_collect, processes_that_vanish_are_skipped) {
    FakeProcesses proc;
    proc.start(20, {});
    proc.start(21, {.parent = 20});
    proc.start(22, {.parent = 20});
    JobProcesses job = proc.follow({.roots = {20}});
    EXPECT_EQ(members(job, 1), (Pids{20, 21, 22}));
    proc.vanish(21);
    proc.vanish(20);
    EXPECT_EQ(members(job, 2), Pids{22});
}

TEST(observe_collect, without_proc_there_is_an_error) {
    JobProcesses job("/nonexistent-proc", {.roots = {1}}, 60s);
    core::Result<> looked = job.look(at_second(1));
    ASSERT_FALSE(looked.has_value());
    EXPECT_NE(looked.error().message().find("/nonexistent-proc"), std::string::npos);
}

}  // namespace
}  // namespace belay::observe::collect
