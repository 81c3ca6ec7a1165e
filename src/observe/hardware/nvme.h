// The table nvme: the health of each NVMe disk, from its SMART log. That is asked for in a child process and
// waited for by no tick, since a disk that fails may keep its caller in the kernel.
#pragma once

#include "observe/hardware/hardware.h"

namespace belay::observe::hardware {

std::unique_ptr<collect::Collector> make_nvme_collector(const HardwareOptions& options);

}  // namespace belay::observe::hardware
