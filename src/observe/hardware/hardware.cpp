#include "observe/hardware/hardware.h"

#include "observe/hardware/numa.h"
#include "observe/hardware/nvme.h"
#include "observe/hardware/power.h"

namespace belay::observe::hardware {

std::vector<std::unique_ptr<collect::Collector>> make_hardware_collectors(const HardwareOptions& options) {
    std::vector<std::unique_ptr<collect::Collector>> collectors;
    collectors.push_back(make_power_collector(options));
    collectors.push_back(make_nvme_collector(options));
    collectors.push_back(make_numa_collector(options));
    return collectors;
}

}  // namespace belay::observe::hardware
