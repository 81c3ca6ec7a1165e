#include "slurm/job.h"

#include "core/text.h"
#include "slurm/hostlist.h"

#include <cstdlib>
#include <initializer_list>

namespace belay::slurm {
namespace {

using core::bad_input;
using core::Result;

// A fact may have several names: the one that fits best comes first, what older versions call it last.
using Names = std::initializer_list<std::string_view>;

struct Variable {
    std::string_view name;
    std::string value;
};

// The first of the variables that says something.
std::optional<Variable> find(const Lookup& lookup, Names names) {
    for (std::string_view name : names) {
        auto value = lookup(name);
        if (value && !value->empty() && *value != "(null)") return Variable{name, std::move(*value)};
    }
    return std::nullopt;
}

std::optional<std::string> text(const Lookup& lookup, Names names) {
    auto variable = find(lookup, names);
    return variable ? std::optional(std::move(variable->value)) : std::nullopt;
}

Result<std::optional<uint64_t>> number(const Lookup& lookup, Names names) {
    auto variable = find(lookup, names);
    if (!variable) return std::nullopt;
    auto value = core::parse_number<uint64_t>(variable->value);
    if (!value) {
        return bad_input("{}={}: not a whole number", variable->name, variable->value)
            .hint("Slurm sets this variable; something else changed it");
    }
    return value;
}

Result<std::optional<core::Time>> time(const Lookup& lookup, Names names) {
    BELAY_TRY(seconds, number(lookup, names));
    constexpr uint64_t kYear2200 = 7258118400;  // beyond it nanoseconds do not fit
    if (!seconds || *seconds == 0) return std::nullopt;
    if (*seconds > kYear2200) return bad_input("{}={}: not a time", *names.begin(), *seconds);
    return core::Time(std::chrono::seconds(*seconds));
}

Result<std::vector<std::string>> nodes(const Lookup& lookup, Names names) {
    auto variable = find(lookup, names);
    if (!variable) return std::vector<std::string>{};
    return expand(variable->value, variable->name);
}

// CUDA reads its list up to the first invalid entry: Slurm writes NoDevFiles, people write -1, for "none".
std::vector<std::string> cuda_devices(std::string_view list) {
    std::vector<std::string> devices;
    for (std::string_view device : core::split(list, ',')) {
        std::string_view name = core::trim(device);
        if (name.empty() || name == "NoDevFiles" || name == "none" || name.starts_with("-")) break;
        devices.emplace_back(name);
    }
    return devices;
}

// "0,2-3", as Slurm writes the devices of a node.
Result<std::optional<std::vector<std::string>>> gpus(const Lookup& lookup) {
    if (auto visible = lookup("CUDA_VISIBLE_DEVICES")) return cuda_devices(*visible);
    auto given = find(lookup, {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"});
    if (!given) return std::nullopt;
    BELAY_TRY(devices, expand(fmt::format("[{}]", given->value), given->name));
    return std::optional(std::move(devices));
}

Result<> read_identity(const Lookup& lookup, TaskFacts& facts) {
    BELAY_TRY(array_job_id, number(lookup, {"SLURM_ARRAY_JOB_ID"}));
    BELAY_TRY(array_task, number(lookup, {"SLURM_ARRAY_TASK_ID"}));
    BELAY_TRY(restart, number(lookup, {"SLURM_RESTART_COUNT"}));
    BELAY_TRY(step_id, number(lookup, {"SLURM_STEP_ID", "SLURM_STEPID"}));
    BELAY_TRY(start, time(lookup, {"SLURM_JOB_START_TIME"}));
    BELAY_TRY(end, time(lookup, {"SLURM_JOB_END_TIME"}));
    facts.array_job_id = array_job_id;
    facts.array_task = array_task;
    facts.restart = restart.value_or(0);
    facts.step_id = step_id;
    facts.start = start;
    facts.end = end;
    facts.cluster = text(lookup, {"SLURM_CLUSTER_NAME"});
    facts.name = text(lookup, {"SLURM_JOB_NAME"});
    facts.account = text(lookup, {"SLURM_JOB_ACCOUNT"});
    facts.user = text(lookup, {"SLURM_JOB_USER"});
    facts.partition = text(lookup, {"SLURM_JOB_PARTITION"});
    facts.launch_address = text(lookup, {"SLURM_LAUNCH_NODE_IPADDR"});
    return {};
}

Result<> read_place(const Lookup& lookup, TaskFacts& facts) {
    BELAY_TRY(job_nodes, nodes(lookup, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
    BELAY_TRY(step_nodes, nodes(lookup, {"SLURM_STEP_NODELIST"}));
    BELAY_TRY(node_count, number(lookup, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}));
    BELAY_TRY(task_count, number(lookup, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}));
    BELAY_TRY(rank, number(lookup, {"SLURM_PROCID"}));
    BELAY_TRY(local_rank, number(lookup, {"SLURM_LOCALID"}));
    BELAY_TRY(node_rank, number(lookup, {"SLURM_NODEID"}));
    BELAY_TRY(cpus_on_node, number(lookup, {"SLURM_CPUS_ON_NODE"}));
    BELAY_TRY(devices, gpus(lookup));
    facts.job_nodes = std::move(job_nodes);
    facts.step_nodes = std::move(step_nodes);
    facts.node_count = node_count;
    facts.task_count = task_count;
    facts.rank = rank;
    facts.local_rank = local_rank;
    facts.node_rank = node_rank;
    facts.cpus_on_node = cpus_on_node;
    facts.gpus = std::move(devices);
    facts.node = text(lookup, {"SLURMD_NODENAME"});
    return {};
}

}  // namespace

Lookup process_environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        const char* value = std::getenv(std::string(name).c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
}

Lookup lookup_in(const core::Environment& variables) {
    return [&variables](std::string_view name) -> std::optional<std::string> {
        auto found = variables.find(std::string(name));
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

Result<std::optional<TaskFacts>> read_task_facts(const Lookup& lookup) {
    BELAY_TRY(job_id, number(lookup, {"SLURM_JOB_ID", "SLURM_JOBID"}));
    if (!job_id) return std::nullopt;
    TaskFacts facts;
    facts.job_id = *job_id;
    BELAY_CHECK(read_identity(lookup, facts));
    BELAY_CHECK(read_place(lookup, facts));
    // A batch script finds a rank of its own in the environment; only a step has one.
    if (!facts.step_id) facts.rank = facts.local_rank = facts.node_rank = std::nullopt;
    return facts;
}

}  // namespace belay::slurm
