#include "bench/parallel/rendezvous.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/text.h"

#include <cerrno>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace belay::bench {

using core::bad_input;
using core::Environment;
using core::Result;
using core::system_error;

namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kLoopback = "127.0.0.1";
// Below the range that Linux takes ports of outgoing connections from (ip_local_port_range, 32768 to 60999).
constexpr uint32_t kFirstPort = 16384, kPorts = 16384;
constexpr core::Duration kFilePoll = std::chrono::milliseconds(20);
constexpr std::string_view kHint =
    "set MASTER_ADDR to the address of the node of rank 0, or give --rendezvous file:PATH "
    "with a path that all nodes see";

std::string variable(const Environment& environment, const std::string& name) {
    auto it = environment.find(name);
    return it == environment.end() ? "" : it->second;
}

// What tells this start of this run from all others; empty where neither Slurm nor torchrun started it.
std::string run_name(const Environment& environment) {
    std::string name = slurm::step_name(slurm::lookup_in(environment));
    for (const char* part : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"})
        if (std::string value = variable(environment, part); !value.empty()) name += "." + value;
    return name;
}

Result<uint16_t> find_port(const World& world, const Environment& environment) {
    std::string text = variable(environment, "MASTER_PORT");
    if (text.empty() && world.launcher == Launcher::kVariables)
        return bad_input("MASTER_PORT is not set")
            .hint("RANK and WORLD_SIZE want MASTER_ADDR and MASTER_PORT beside them");
    if (text.empty()) return static_cast<uint16_t>(kFirstPort + core::fnv1a(run_name(environment)) % kPorts);
    auto port = core::parse_number<uint16_t>(text);
    if (!port || *port == 0) return bad_input("MASTER_PORT: \"{}\" is not a port from 1 to 65535", text);
    return *port;
}

Result<std::string> with_hint(Result<std::string> address) {
    if (!address) return std::unexpected(std::move(address.error()).hint(kHint));
    return address;
}

Result<std::string> find_address(const World& world, const Environment& environment,
                                 const AddressLookup& lookup) {
    if (std::string name = variable(environment, "MASTER_ADDR"); !name.empty())
        return with_hint(core::with_context(lookup.address_of_name(name), "MASTER_ADDR"));
    if (world.launcher == Launcher::kVariables)
        return bad_input("MASTER_ADDR is not set")
            .hint("RANK and WORLD_SIZE want MASTER_ADDR and MASTER_PORT beside them");
    if (world.nodes == 1) return std::string(kLoopback);
    return with_hint(core::with_context(
        lookup.address_of_node(world.first_node),
        fmt::format("the address of {}, the node of rank 0, cannot be found", world.first_node)));
}

Result<Rendezvous> by_file(const World& world, const Environment& environment, std::string_view path,
                           const AddressLookup& lookup) {
    Rendezvous rendezvous{.file = std::string(path) + run_name(environment)};
    rendezvous.local_address = kLoopback;
    if (world.nodes == 1) return rendezvous;
    BELAY_TRY(address, lookup.outside_address());
    rendezvous.local_address = std::move(address);
    return rendezvous;
}

// Whether rank 0 has made it. What another user put there may be a link to a file of this one, or the ranks of another run.
Result<bool> is_meeting_file(const std::filesystem::path& file) {
    struct stat status{};
    if (lstat(file.c_str(), &status) != 0) {
        if (errno == ENOENT) return false;
        return core::errno_error(errno, fmt::format("cannot look at {}", file.string()));
    }
    if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1) return true;
    return bad_input("--rendezvous: {} is not a file that rank 0 made: it is {}", file.string(),
                     S_ISREG(status.st_mode) ? "another user's, or has another name beside it"
                                             : "not a regular file")
        .hint("name a path in a directory of your own");
}

}  // namespace

Result<> check_rendezvous_choice(std::string_view choice) {
    if (choice == kFile) return bad_input("--rendezvous: \"{}\" has no path behind it", kFile);
    if (choice.empty() || choice == "tcp" || choice.starts_with(kFile)) return {};
    return bad_input("--rendezvous: \"{}\" is neither tcp nor file:PATH", choice);
}

Result<Rendezvous> find_rendezvous(const World& world, const Environment& environment,
                                   std::string_view choice, const AddressLookup& lookup) {
    BELAY_CHECK(check_rendezvous_choice(choice));
    if (choice.starts_with(kFile)) return by_file(world, environment, choice.substr(kFile.size()), lookup);

    Rendezvous rendezvous;
    BELAY_TRY(address, find_address(world, environment, lookup));
    BELAY_TRY(port, find_port(world, environment));
    rendezvous.address = address;
    rendezvous.port = port;
    BELAY_TRY(local_address,
              core::with_context(lookup.address_toward(address),
                                 fmt::format("no way from this node to {}, the node of rank 0", address)));
    rendezvous.local_address = std::move(local_address);
    return rendezvous;
}

Result<> prepare_file(const World& world, const Rendezvous& rendezvous, const core::Deadline& deadline) {
    const std::filesystem::path& file = rendezvous.file;
    if (file.empty()) return {};
    if (world.rank == 0) {
        BELAY_TRY(made, core::create_file(file, ""));
        if (made) return {};
        return bad_input("--rendezvous: {} exists: an earlier run may have left it behind", file.string())
            .hint("remove it, or give each run a path of its own");
    }
    for (;;) {
        BELAY_TRY(is_there, is_meeting_file(file));
        if (is_there) return {};
        if (deadline.is_over())
            return system_error("rank {} of {}: no meeting at {}: rank 0 did not make it", world.rank,
                                world.size, file.string())
                .because(core::Cause::kTimedOut);
        std::this_thread::sleep_for(deadline.but_within(kFilePoll).left());
    }
}

}  // namespace belay::bench
