// Where the ranks of a run meet: a TCP store at rank 0, or a file that all of them see.
#pragma once

#include "bench/parallel/world.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/process.h"
#include "slurm/step.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::bench {

struct Rendezvous {
    std::string address;         // of rank 0, numeric; empty for a file
    uint16_t port = 0;           // of the store at rank 0
    std::filesystem::path file;  // where the ranks meet if it is not empty
    std::string local_address;   // of this process, numeric, on the interface over which the others reach it
};

// How names become addresses, each in bounded time. Injected, since tests have neither Slurm nor a name
// server.
struct AddressLookup {
    std::function<core::Result<std::string>(const std::string& name)> address_of_name;
    slurm::AddressOf address_of_node;
    // The address of this machine that is used to reach `address`. Errors: kSystem; kUnreachable if there is
    // no way to it.
    std::function<core::Result<std::string>(const std::string& address)> address_toward;
    // The address of the first interface that is up and not the loopback. Errors: kSystem; kUnreachable if
    // there is none.
    std::function<core::Result<std::string>()> outside_address;
};

// The system's resolver, scontrol and interfaces.
AddressLookup system_lookup();

// Empty, "tcp" or "file:PATH". Errors: kBadInput.
core::Result<> check_rendezvous_choice(std::string_view choice);

// To be called before the ranks read or write the file in which they meet; nothing where they meet elsewhere.
// Rank 0 makes it, the others wait for it until the deadline. What an earlier run that was killed left in
// a file would be taken for this run's ranks, so rank 0 refuses a file that is there already. Errors:
// kBadInput for that; kSystem if the file cannot be made or looked at, or does not come (kTimedOut).
core::Result<> prepare_file(const World& world, const Rendezvous& rendezvous, const core::Deadline& deadline);

// `choice` as above. Without a file the address is MASTER_ADDR, or that of the first node of the
// step: from the resolver, or else from Slurm's configuration. The port is MASTER_PORT, or one derived from
// what names the step. A file gets the step's name as a suffix, so that a restarted job has one of its own;
// outside Slurm and torchrun nothing tells one start from another, see prepare_file(). Errors: kBadInput for
// the choice and the variables; kSystem if no address can be found, with what to set.
core::Result<Rendezvous> find_rendezvous(const World& world, const core::Environment& environment,
                                         std::string_view choice, const AddressLookup& lookup);

}  // namespace belay::bench
