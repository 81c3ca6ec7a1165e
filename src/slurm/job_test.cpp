#include "slurm/job.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string, std::less<>>;

Lookup in(const Variables& variables) {
    return [&variables](std::string_view name) -> std::optional<std::string> {
        auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

// What a task of a step over two of three nodes, of a requeued array task, finds under Slurm 22.05.
const Variables kStep = {
    {"SLURMD_NODENAME", "n3"},
    {"SLURM_ARRAY_JOB_ID", "40"},
    {"SLURM_ARRAY_TASK_ID", "0"},
    {"SLURM_CLUSTER_NAME", "alps"},
    {"SLURM_CPUS_ON_NODE", "64"},
    {"SLURM_JOB_ACCOUNT", "physics"},
    {"SLURM_JOB_ID", "42"},
    {"SLURM_JOB_NAME", "my job=x"},
    {"SLURM_JOB_NODELIST", "n[1-3]"},
    {"SLURM_JOB_NUM_NODES", "3"},
    {"SLURM_JOB_PARTITION", "main"},
    {"SLURM_JOB_START_TIME", "1795255786"},
    {"SLURM_JOB_USER", "ada"},
    {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
    {"SLURM_LOCALID", "1"},
    {"SLURM_NNODES", "3"},
    {"SLURM_NODEID", "1"},
    {"SLURM_NTASKS", "9"},
    {"SLURM_PROCID", "3"},
    {"SLURM_RESTART_COUNT", "2"},
    {"SLURM_STEP_ID", "7"},
    {"SLURM_STEP_NODELIST", "n[2-3]"},
    {"SLURM_STEP_NUM_NODES", "2"},
    {"SLURM_STEP_NUM_TASKS", "4"},
};

Variables with(Variables variables, const std::string& name, const std::string& value) {
    variables[name] = value;
    return variables;
}

TEST(slurm, job_facts_of_a_step) {
    auto found = read_task_facts(in(kStep));
    ASSERT_TRUE(found) << found.error().render();
    ASSERT_TRUE(*found);
    const TaskFacts& facts = **found;
    EXPECT_EQ(facts.job_id, 42U);
    EXPECT_EQ(facts.cluster, "alps");
    EXPECT_EQ(facts.array_job_id, 40U);
    EXPECT_EQ(facts.array_task, 0U);
    EXPECT_EQ(facts.restart, 2U);
    EXPECT_EQ(facts.step_id, 7U);
    EXPECT_EQ(facts.name, "my job=x");
    EXPECT_EQ(facts.account, "physics");
    EXPECT_EQ(facts.user, "ada");
    EXPECT_EQ(facts.partition, "main");
    EXPECT_THAT(facts.job_nodes, ElementsAre("n1", "n2", "n3"));
    EXPECT_THAT(facts.step_nodes, ElementsAre("n2", "n3"));
    EXPECT_EQ(facts.node_count, 2U);
    EXPECT_EQ(facts.task_count, 4U);
    EXPECT_EQ(facts.rank, 3U);
    EXPECT_EQ(facts.local_rank, 1U);
    EXPECT_EQ(facts.node_rank, 1U);
    EXPECT_EQ(facts.node, "n3");
    EXPECT_EQ(facts.cpus_on_node, 64U);
    EXPECT_EQ(facts.gpus, std::nullopt);
    EXPECT_EQ(core::format_time(facts.start.value()), "2026-11-21T10:09:46.000000Z");
    EXPECT_EQ(facts.end, std::nullopt);
    EXPECT_EQ(facts.launch_address, "10.0.0.1");
}

TEST(slurm, job_facts_outside_slurm) {
    auto found =
        read_task_facts(in({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_CONF", "/etc/slurm/slurm.conf"}}));
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
}

TEST(slurm, job_facts_of_a_batch_script) {
    // A batch script finds SLURM_PROCID=0 in its environment, but is no rank of anything.
    const Variables variables = {{"SLURM_JOB_ID", "5"},     {"SLURM_PROCID", "0"},
                                 {"SLURM_NODEID", "0"},     {"SLURM_NODELIST", "n[1-2]"},
                                 {"SLURM_NNODES", "2"},     {"SLURM_NPROCS", "8"},
                                 {"SLURM_JOB_ACCOUNT", ""}, {"SLURM_JOB_NAME", "(null)"}};
    auto found = read_task_facts(in(variables));
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->rank, std::nullopt);
    EXPECT_EQ((*found)->node_rank, std::nullopt);
    EXPECT_EQ((*found)->restart, 0U);
    EXPECT_THAT((*found)->job_nodes, ElementsAre("n1", "n2"));
    EXPECT_THAT((*found)->step_nodes, IsEmpty());
    EXPECT_EQ((*found)->task_count, 8U);
    EXPECT_EQ((*found)->account, std::nullopt);
    EXPECT_EQ((*found)->name, std::nullopt);
}

TEST(slurm, job_facts_gpus) {
    using Gpus = std::optional<std::vector<std::string>>;
    const std::pair<Variables, Gpus> cases[] = {
        {{{"CUDA_VISIBLE_DEVICES", "0,3"}, {"SLURM_STEP_GPUS", "4,7"}}, Gpus({"0", "3"})},
        {{{"CUDA_VISIBLE_DEVICES", "GPU-8f3a, MIG-71c2"}}, Gpus({"GPU-8f3a", "MIG-71c2"})},
        {{{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, Gpus(std::vector<std::string>())},
        {{{"CUDA_VISIBLE_DEVICES", "1,-1,2"}}, Gpus({"1"})},
        {{{"CUDA_VISIBLE_DEVICES", ""}}, Gpus(std::vector<std::string>())},
        {{{"SLURM_STEP_GPUS", "0,2-3"}, {"SLURM_JOB_GPUS", "0-7"}}, Gpus({"0", "2", "3"})},
        {{{"SLURM_JOB_GPUS", "1"}}, Gpus({"1"})},
        {{}, std::nullopt},
    };
    for (auto [variables, wanted] : cases) {
        auto found = read_task_facts(in(with(variables, "SLURM_JOB_ID", "1")));
        ASSERT_TRUE(found && *found);
        EXPECT_EQ((*found)->gpus, wanted);
    }
}

TEST(slurm, job_facts_refuse_what_slurm_does_not_write) {
    const std::array<const char*, 3> cases[] = {
        {"SLURM_JOB_ID", "4x", "SLURM_JOB_ID=4x: not a whole number"},
        {"SLURM_JOB_ID", "-1", "SLURM_JOB_ID=-1"},
        {"SLURM_PROCID", "first", "SLURM_PROCID=first"},
        {"SLURM_STEP_NUM_TASKS", "4 ", "SLURM_STEP_NUM_TASKS=4 "},
        {"SLURM_RESTART_COUNT", "99999999999999999999", "SLURM_RESTART_COUNT"},
        {"SLURM_JOB_START_TIME", "99999999999999", "SLURM_JOB_START_TIME=99999999999999: not a time"},
        {"SLURM_JOB_NODELIST", "n[1-3", "\"[\" without \"]\""},
        {"SLURM_STEP_GPUS", "0,a", "brackets hold numbers"},
    };
    for (const auto& [name, value, message] : cases) {
        auto found = read_task_facts(in(with(kStep, name, value)));
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_THAT(found.error().render(), HasSubstr(message));
        EXPECT_THAT(found.error().render(), HasSubstr(name));
    }
}

}  // namespace
}  // namespace belay::slurm
