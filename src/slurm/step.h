// The step of srun that a process belongs to: where it stands in it, and how to reach the others.
#pragma once

#include "core/name_service.h"
#include "slurm/job.h"

namespace belay::slurm {

struct Step {
    std::string name;  // step_name()
    uint64_t rank = 0;
    uint64_t task_count = 1;
    uint64_t node_rank = 0;
    uint64_t local_rank = 0;         // on its node
    std::vector<std::string> nodes;  // in the order of node_rank
};

// Nothing outside a step. Errors: kBadInput for variables that cannot be what Slurm writes, naming one.
core::Result<std::optional<Step>> read_step(const Lookup& lookup);

// What tells this start of this step from all others: ".CLUSTER.JOB.STEP.RESTART.PORT" without what is not
// known, where srun's own port tells clusters on one machine apart. Empty outside Slurm.
std::string step_name(const Lookup& lookup);

// The address of a node as this node reaches it, numeric. Errors: kSystem, why there is none; kNotFound only
// where everything that knows nodes was asked. Injected: tests have neither Slurm nor a name service.
using AddressOf = std::function<core::Result<std::string>(const std::string& node)>;

// What asks for addresses: the system's resolver, and scontrol for NodeAddr of Slurm's configuration (a name
// or numeric, nothing if it does not know the node; as query_node_address()).
struct AddressSources {
    core::NameService name_service;
    std::function<core::Result<std::optional<std::string>>(const std::string& node,
                                                           const core::Deadline& deadline)>
        node_address;
};

// The longest that asking for the address of a node takes, also where neither source answers.
inline constexpr core::Duration kAddressTime = std::chrono::seconds(25);

// Asks the name service, and scontrol for a name that only Slurm knows. Keeps to kAddressTime.
AddressOf address_from(AddressSources sources);
// As this system has them.
AddressOf system_address();

}  // namespace belay::slurm
