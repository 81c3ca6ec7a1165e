#include "bench/train/cpu_share.h"

#include "core/file.h"
#include "core/hash.h"

#include <algorithm>
#include <cerrno>
#include <sched.h>

namespace belay::bench {

namespace {

constexpr const char* kNodeName = "/proc/sys/kernel/random/boot_id";  // tells nodes apart

}  // namespace

int CpuShare::threads() const {
    return std::max(1, static_cast<int>(usable.size()) / ranks);
}

core::Result<CpuShare> cpu_share(Group& group) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return core::errno_error(errno, "cannot see which CPUs may be used");
    CpuShare share;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) share.usable.push_back(cpu);
    const std::string_view bits(reinterpret_cast<const char*>(&set), sizeof set);
    BELAY_TRY(all, group.gather(core::fnv1a(core::read_file(kNodeName).value_or("").append(bits))));
    const auto mine = all.begin() + group.rank();
    share.number = static_cast<int>(std::count(all.begin(), mine, *mine));
    share.ranks = static_cast<int>(std::ranges::count(all, *mine));
    return share;
}

}  // namespace belay::bench
