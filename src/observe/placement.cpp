#include "observe/placement.h"

#include "core/process.h"
#include "slurm/hostlist.h"
#include "slurm/job.h"

#include <array>
#include <cerrno>
#include <map>
#include <pwd.h>
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

std::string user_name() {
    std::array<char, 4096> buffer;
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
        return entry.pw_name;
    return std::to_string(getuid());
}

std::string host_name() {
    std::array<char, 256> buffer{};
    if (gethostname(buffer.data(), buffer.size() - 1) != 0) return "localhost";
    std::string name(buffer.data());
    return name.substr(0, name.find('.'));
}

Placement alone() {
    Placement placement;
    placement.node = host_name();
    placement.job.nodes = {placement.node};
    placement.job.user = user_name();
    placement.cpus = allowed_cpus();
    return placement;
}

}  // namespace

Result<Placement> find_placement() {
    BELAY_TRY(step, slurm::job_from_environment(
                        [](std::string_view name) { return core::environment_variable(std::string(name)); }));
    if (!step) return alone();
    return alone();
}

}  // namespace belay::observe
