#include "observe/collect/step_daemons.h"

#include "core/text.h"

#include <algorithm>

namespace belay::observe::collect {

std::optional<StepName> parse_step_title(std::string_view command_line) {
    constexpr std::string_view kBegin = "slurmstepd: [";
    if (!command_line.starts_with(kBegin)) return std::nullopt;
    command_line.remove_prefix(kBegin.size());
    const size_t end = command_line.find(']');
    const std::string_view name = command_line.substr(0, end);
    const size_t dot = name.find('.');
    if (end == command_line.npos || dot == name.npos) return std::nullopt;
    const auto job = core::parse_number<int64_t>(name.substr(0, dot));
    std::string_view step = name.substr(dot + 1);
    if (const size_t part = step.find('+'); part != step.npos) {
        if (!core::parse_number<uint32_t>(step.substr(part + 1))) return std::nullopt;
        step = step.substr(0, part);
    }
    const bool is_named = step == "batch" || step == "extern" || step == "interactive";
    if (!job || *job <= 0 || (!is_named && !core::parse_number<uint32_t>(step))) return std::nullopt;
    return StepName{*job, std::string(step)};
}

std::optional<std::string> step_column(const StepName& name) {
    if (name.step == "batch") return std::nullopt;
    return name.step;
}

bool StepOnNode::is_of(std::string_view node) const {
    if (!environment) return is_hidden;
    const auto said = environment->find("SLURMD_NODENAME");
    return said != environment->end() && said->second == node;
}

bool StepOnNode::is_of_other_cluster(std::string_view cluster) const {
    if (!environment) return false;
    const auto said = environment->find("SLURM_CLUSTER_NAME");
    return said != environment->end() && said->second != cluster;
}

}  // namespace belay::observe::collect
