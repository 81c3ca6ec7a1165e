// The table power: energy, power and temperature of the parts of a node, from the CPUs themselves (RAPL), the
// sensors of the board (hwmon) and Cray's board controller (pm_counters). Owes no rows where nothing of that
// can be read.
#pragma once

#include "observe/hardware/hardware.h"

namespace belay::observe::hardware {

std::unique_ptr<collect::Collector> make_power_collector(const HardwareOptions& options);

}  // namespace belay::observe::hardware
