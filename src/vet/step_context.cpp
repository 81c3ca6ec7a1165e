#include "vet/step_context.h"

#include "core/process.h"
#include "core/text.h"
#include "core/work.h"

#include <algorithm>
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

// glibc waits five seconds for each of up to three servers before it asks one again.
constexpr core::Duration kNameTime = std::chrono::seconds(15);
constexpr core::Duration kAddressTime = std::chrono::seconds(25);  // scontrol and a second name included

// Nothing bounds how long this takes.
std::optional<std::string> ask_name_service(const std::string& name) {
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

std::optional<std::string> node_address(const std::string& node, core::Deadline deadline) {
    auto output = core::output_of({.argv = {"scontrol", "--oneliner", "show", "node", node}},
                                  {.timeout = deadline.left()});
    if (!output) return std::nullopt;
    constexpr std::string_view kName = "NodeAddr=";
    for (std::string_view word : core::split_words(*output))
        if (word.starts_with(kName)) return std::string(word.substr(kName.size()));
    return std::nullopt;
}

}  // namespace

Result<std::string> resolve_by(core::Deadline deadline, const std::string& name, const Resolver& resolver) {
    BELAY_TRY(work, core::Work::start({.what = "the name service"},
                                      [&] { return Result<std::string>(resolver(name).value_or("")); }));
    auto address = work.finish(deadline);
    if (!address && address.error().cause() == core::Cause::kTimedOut)
        return core::system_error("the name service did not answer when asked for {}", name)
            .because(core::Cause::kTimedOut);
    if (address && address->empty()) return core::system_error("the name service does not know {}", name);
    return address;
}

AddressOf system_address() {
    return [](const std::string& node) -> Result<std::string> {
        core::Deadline last = core::Deadline::after(kAddressTime);
        auto address = resolve_by(core::Deadline::after(kNameTime), node, ask_name_service);
        if (address) return address;
        auto configured = node_address(node, last);
        if (configured && *configured != node) return resolve_by(last, *configured, ask_name_service);
        return core::system_error("{}; scontrol names no other address", address.error().message());
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
    BELAY_TRY(address, core::with_context(address_of(context.nodes[0]),
                                          fmt::format("{}, where the nodes of the step meet, has no address",
                                                      context.nodes[0])));
    context.root_address = std::move(address);
    return std::optional(std::move(context));
}

}  // namespace belay::vet
