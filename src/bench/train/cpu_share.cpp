#include "bench/train/cpu_share.h"

#include <algorithm>
#include <cerrno>
#include <sched.h>

namespace belay::bench {

int CpuShare::threads() const {
    return std::max(1, static_cast<int>(usable.size()) / with.ranks);
}

core::Result<CpuShare> cpu_share(Group& group) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return core::errno_error(errno, "cannot see which CPUs may be used");
    CpuShare share;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) share.usable.push_back(cpu);
    BELAY_TRY(shared, sharing(group, {reinterpret_cast<const char*>(&set), sizeof set}));
    share.with = shared;
    return share;
}

}  // namespace belay::bench
