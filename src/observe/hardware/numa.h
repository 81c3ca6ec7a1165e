// The table numa: the memory of each NUMA node that has CPUs or memory. Whose memory a node without CPUs is,
// the driver of NVIDIA's GPUs says, if it is theirs (GH200); it is asked in a child process.
#pragma once

#include "observe/hardware/hardware.h"

namespace belay::observe::hardware {

std::unique_ptr<collect::Collector> make_numa_collector(const HardwareOptions& options);

}  // namespace belay::observe::hardware
