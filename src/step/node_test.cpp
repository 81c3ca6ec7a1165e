#include "step/node.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::step {

namespace {

// A node of a step of two; with what it ends, 0 where its tasks may start. Both names lead to this machine.
int end_of(unsigned rank, const std::function<core::Result<>(const PreparedNode&)>& offer) {
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
    if (!prepared) return prepared.error().exit_status();
    return prepared->has_value() ? 0 : static_cast<int>(prepared->error());
}

// The second node in a process of its own, as in a step.
struct Ends {
    int first = -1;
    int second = -1;
    bool operator==(const Ends&) const = default;
};

Ends end_of_two(const core::Result<>& first_offer, const core::Result<>& second_offer) {
    pid_t child = fork();
    if (child == 0) _exit(end_of(1, [&](const PreparedNode&) { return second_offer; }));
    Ends ends;
    ends.first = end_of(0, [&](const PreparedNode&) { return first_offer; });
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    ends.second = WEXITSTATUS(status);
    return ends;
}

}  // namespace

TEST(step, nodes_are_ready_when_their_tasks_have_been_handed_what_they_need) {
    EXPECT_EQ(end_of_two({}, {}), (Ends{0, 0}));
    const core::Result<> machine = core::system_error("the tasks cannot be handed their files");
    const core::Result<> person = core::bad_input("the tasks have no such program");
    EXPECT_EQ(end_of_two(machine, {}), (Ends{3, 1})) << "the second is not to blame";
    EXPECT_EQ(end_of_two({}, machine), (Ends{1, 3}));
    EXPECT_EQ(end_of_two(person, machine), (Ends{2, 3}));
}

}  // namespace belay::step
