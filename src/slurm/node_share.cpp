#include "slurm/node_share.h"

#include "core/text.h"

#include <algorithm>
#include <string_view>

namespace belay::slurm {

namespace {

std::optional<int64_t> number(const core::Environment& environment, const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : core::parse_number<int64_t>(found->second);
}

// The ranks of the step's tasks on this node, "2,3,7".
void take_ranks(std::string_view list, NodeShare& share) {
    int64_t tasks = 0;
    std::optional<int64_t> first;
    for (std::string_view word : core::split(list, ',')) {
        const auto rank = core::parse_number<int64_t>(word);
        if (!rank) return;
        first = std::min(first.value_or(*rank), *rank);
        ++tasks;
    }
    share.tasks = tasks;
    share.first_task = first;
}

}  // namespace

NodeShare read_node_share(const core::Environment& environment) {
    NodeShare share{.restart = number(environment, "SLURM_RESTART_COUNT"),
                    .cpus = number(environment, "SLURM_CPUS_ON_NODE")};
    if (auto ranks = environment.find("SLURM_GTIDS"); ranks != environment.end())
        take_ranks(ranks->second, share);
    return share;
}

}  // namespace belay::slurm
