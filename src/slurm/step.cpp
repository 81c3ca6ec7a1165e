#include "slurm/step.h"

#include "slurm/scontrol.h"

namespace belay::slurm {

namespace {

using core::bad_input;
using core::Deadline;
using core::Result;

constexpr std::string_view kNameParts[] = {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID",
                                           "SLURM_RESTART_COUNT", "SLURM_SRUN_COMM_PORT"};

// glibc waits five seconds for each of up to three servers before it asks one again.
constexpr core::Duration kNameTime = std::chrono::seconds(15);

// Both failed. Without scontrol's answer it is not known whether the name service should have known the node,
// also where there is no scontrol.
core::Error also(core::Error name_service, const core::Error& scontrol) {
    core::Error error = std::move(name_service)
                            .after(fmt::format("; scontrol cannot be asked either: {}", scontrol.message()));
    if (error.cause() != core::Cause::kNotFound) return error;
    bool is_missing = scontrol.cause() == core::Cause::kNotFound;
    error = std::move(error).because(is_missing ? core::Cause::kUnreachable : scontrol.cause());
    return scontrol.hint_text().empty() ? error : std::move(error).hint(scontrol.hint_text());
}

}  // namespace

Result<std::optional<Step>> read_step(const Lookup& lookup) {
    BELAY_TRY(facts, read_task_facts(lookup));
    if (!facts || !facts->step_id || !facts->rank || !facts->task_count || !facts->node_rank ||
        !facts->local_rank)
        return std::nullopt;
    if (*facts->node_rank >= facts->step_nodes.size())
        return bad_input("SLURM_STEP_NODELIST does not name node {} of the step", *facts->node_rank);
    if (*facts->task_count > INT32_MAX)
        return bad_input("SLURM_STEP_NUM_TASKS={}: more tasks than a step can have", *facts->task_count);
    if (*facts->rank >= *facts->task_count)
        return bad_input("SLURM_PROCID={}: a step of {} tasks has no such rank", *facts->rank,
                         *facts->task_count);
    return Step{.name = step_name(lookup),
                .rank = *facts->rank,
                .task_count = *facts->task_count,
                .node_rank = *facts->node_rank,
                .local_rank = *facts->local_rank,
                .nodes = std::move(facts->step_nodes)};
}

std::string step_name(const Lookup& lookup) {
    std::string name;
    for (std::string_view part : kNameParts)
        if (auto value = lookup(part); value && !value->empty()) name += "." + *value;
    return name;
}

AddressOf address_from(AddressSources sources) {
    return [sources = std::move(sources)](const std::string& node) -> Result<std::string> {
        const Deadline last = Deadline::after(kAddressTime);
        auto address = core::address_of_name(node, last.but_within(kNameTime), sources.name_service);
        if (address) return address;
        auto configured = sources.node_address(node, last);
        if (!configured) return std::unexpected(also(std::move(address.error()), configured.error()));
        if (*configured && **configured != node)
            return core::address_of_name(**configured, last, sources.name_service);
        return std::unexpected(std::move(address.error()).after("; scontrol names no other address"));
    };
}

AddressOf system_address() {
    return address_from({.name_service = core::ask_name_service,
                         .node_address = [](const std::string& node, const Deadline& deadline) {
                             return query_node_address(node, deadline);
                         }});
}

}  // namespace belay::slurm
