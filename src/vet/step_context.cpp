#include "vet/step_context.h"

#include "core/process.h"
#include "core/text.h"

#include <array>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

namespace belay::vet {

namespace {

using core::Result;

// What tells this start of this step from all others; srun's own port tells clusters on one machine apart.
constexpr std::array<std::string_view, 5> kStepFacts{"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID",
                                                     "SLURM_RESTART_COUNT", "SLURM_SRUN_COMM_PORT"};

std::optional<std::string> resolve(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return std::nullopt;
    return std::string(text.data());
}

std::optional<std::string> node_address(const std::string& node) {
    auto output = core::output_of({.argv = {"scontrol", "--oneliner", "show", "node", node}},
                                  {.timeout = std::chrono::seconds(20)});
    if (!output) return std::nullopt;
    constexpr std::string_view kName = "NodeAddr=";
    for (std::string_view word : core::split_words(*output))
        if (word.starts_with(kName)) return std::string(word.substr(kName.size()));
    return std::nullopt;
}

}  // namespace

AddressOf system_address() {
    return [](const std::string& node) -> std::optional<std::string> {
        if (auto address = resolve(node)) return address;
        auto configured = node_address(node);
        return configured ? resolve(*configured) : std::nullopt;
    };
}

Result<std::optional<StepContext>> step_context(const slurm::Lookup& lookup, const AddressOf& address_of) {
    BELAY_TRY(facts, slurm::read_job_facts(lookup));
    if (!facts || !facts->step_id || !facts->node_rank || !facts->local_rank)
        return std::optional<StepContext>();
    if (*facts->local_rank != 0) return std::optional<StepContext>();
    if (facts->step_nodes.empty() || *facts->node_rank >= facts->step_nodes.size())
        return core::bad_input("SLURM_STEP_NODELIST does not name node {} of the step", *facts->node_rank);
    StepContext context;
    context.rank = static_cast<uint32_t>(*facts->node_rank);
    context.nodes = facts->step_nodes;
    for (std::string_view name : kStepFacts) context.name += lookup(name).value_or("") + ".";
    context.secret = lookup(kSecretVariable).value_or("");
    if (context.secret.empty()) context.secret = context.name;
    if (context.rank == 0 || context.nodes.size() == 1) return std::optional(std::move(context));
    auto address = address_of(context.nodes[0]);
    if (!address)
        return core::system_error(
            "{}, where the nodes of the step meet, has no address: neither the name service nor "
            "scontrol knows it",
            context.nodes[0]);
    context.root_address = *address;
    return std::optional(std::move(context));
}

}  // namespace belay::vet
