#include "step/node.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::step {

namespace {

// A node of a step of two; whether its tasks may start. Both names lead to this machine.
bool starts(unsigned rank, const std::function<core::Result<>(const PreparedNode&)>& offer) {
    StepPlan plan{.secret = "secret"};
    plan.environment = EnvironmentPlan{.name = "demo", .container = {}, .variables = {}, .locked = "{}"};
    NodeContext context{.step = {.job_id = 1},
                        .variables = {{"SLURM_JOB_ID", std::to_string(getpgrp())},
                                      {"SLURM_STEP_ID", "0"},
                                      {"SLURM_LOCALID", "0"},
                                      {"SLURM_PROCID", std::to_string(rank)},
                                      {"SLURM_STEP_NUM_TASKS", "2"},
                                      {"SLURM_NODEID", std::to_string(rank)},
                                      {"SLURM_STEP_NODELIST", "localhost,127.0.0.1"}},
                        .offer = offer};
    auto prepared = prepare_node(plan, context);
    return prepared && *prepared;
}

// The second node in a process of its own, as in a step.
struct Started {
    bool first = false;
    bool second = false;
};

Started start_two(const core::Result<>& first_offer, const core::Result<>& second_offer) {
    pid_t child = fork();
    if (child == 0) _exit(starts(1, [&](const PreparedNode&) { return second_offer; }) ? 1 : 0);
    Started started;
    started.first = starts(0, [&](const PreparedNode&) { return first_offer; });
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    started.second = WEXITSTATUS(status) == 1;
    return started;
}

}  // namespace

TEST(step, nodes_are_ready_when_their_tasks_have_been_handed_what_they_need) {
    auto good = start_two({}, {});
    EXPECT_TRUE(good.first && good.second);
    core::Result<> failure = core::system_error("the tasks cannot be handed their files");
    for (auto bad : {start_two(failure, {}), start_two({}, failure)}) EXPECT_FALSE(bad.first || bad.second);
}

}  // namespace belay::step
