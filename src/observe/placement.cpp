#include "observe/placement.h"

#include "core/process.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/user.h"
#include "slurm/job.h"
#include "slurm/scontrol.h"
#include "stream/liveness.h"

#include <cerrno>
#include <map>
#include <sched.h>
#include <unistd.h>

namespace belay::observe {

using core::Result;

namespace {

constexpr core::Duration kControllerTime = std::chrono::seconds(5);

// The CPUs that this process may run on: what Slurm or the user bound it to.
std::optional<int64_t> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;  // EINVAL: more than 1,024 CPUs
    return CPU_COUNT(&set);
}

Placement alone() {
    Placement placement;
    placement.node = stream::this_node();
    placement.job.nodes = {placement.node};
    placement.job.user = core::user_name(getuid());
    placement.cpus = allowed_cpus();
    placement.tasks_on_node = 1;
    return placement;
}

std::optional<int64_t> as_signed(const std::optional<uint64_t>& value) {
    return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

// SLURM_STEP_TASKS_PER_NODE, "2(x3),1", says how many tasks each node of the step has; what it says of ours.
std::optional<int64_t> tasks_on(uint64_t node_rank, std::string_view tasks_per_node) {
    uint64_t node = 0;
    for (std::string_view part : core::split(tasks_per_node, ',')) {
        size_t bracket = part.find("(x");
        uint64_t repeat = 1;
        if (bracket != std::string_view::npos)
            repeat =
                core::parse_number<uint64_t>(part.substr(bracket + 2, part.size() - bracket - 3)).value_or(1);
        node += repeat;
        if (node_rank < node) return core::parse_number<int64_t>(part.substr(0, bracket));
    }
    return std::nullopt;
}

Placement in_step(const slurm::TaskFacts& facts) {
    Placement placement;
    placement.node = facts.node.value_or(stream::this_node());
    placement.job = {.cluster = facts.cluster.value_or(""),
                     .id = static_cast<int64_t>(facts.array_job_id.value_or(facts.job_id)),
                     .array_task = as_signed(facts.array_task),
                     .restart = static_cast<int64_t>(facts.restart),
                     .account = facts.account.value_or(""),
                     .name = facts.name.value_or(""),
                     .user = facts.user ? *facts.user : core::user_name(getuid()),
                     .nodes = facts.step_nodes.empty() ? facts.job_nodes : facts.step_nodes,
                     .start = facts.start};
    placement.task = as_signed(facts.rank);
    if (facts.step_id) placement.step = std::to_string(*facts.step_id);
    placement.samples_node = facts.local_rank.value_or(0) == 0;
    placement.first_of_job = facts.rank.value_or(0) == 0;
    placement.first_task = placement.task.value_or(0);
    auto per_node = core::environment_variable("SLURM_STEP_TASKS_PER_NODE");
    if (facts.node_rank && per_node) placement.tasks_on_node = tasks_on(*facts.node_rank, *per_node);
    placement.cpus = facts.cpus_on_node ? as_signed(facts.cpus_on_node) : allowed_cpus();
    return placement;
}

}  // namespace

Result<Placement> find_placement() {
    BELAY_TRY(facts, slurm::read_task_facts(slurm::process_environment()));
    return facts ? in_step(*facts) : alone();
}

Result<Placement> find_placement_and_times() {
    BELAY_TRY(facts, slurm::read_task_facts(slurm::process_environment()));
    if (!facts) return alone();
    Placement placement = in_step(*facts);
    if (!placement.first_of_job) return placement;
    // The controller knows more; that it does not answer must not keep a job from running.
    auto job = slurm::query_job(facts->job_id, kControllerTime);
    if (!job) {
        core::tell_error(placement.node + ": the record will lack when the job was submitted", job.error(),
                         core::kJobGoesOn);
    } else {
        placement.job.submit = job->submit;
        if (!placement.job.start) placement.job.start = job->start;
        if (placement.job.account.empty()) placement.job.account = job->account.value_or("");
    }
    return placement;
}

}  // namespace belay::observe
