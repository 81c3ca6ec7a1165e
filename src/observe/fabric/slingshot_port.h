// Slingshot adapters: /sys/class/cxi/cxiN/device of the driver cxi_ss1. Virtual functions have no telemetry
// of the link and no list of restarts.
#pragma once

#include "observe/fabric/port.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace belay::observe::fabric {

// By name; none where there is no such adapter. Errors: kSystem where the class cannot be listed.
core::Result<std::vector<PortPlace>> list_slingshot_ports(const std::filesystem::path& sys);

// Nothing where it is gone.
std::unique_ptr<Port> open_slingshot_port(const PortPlace& place);

}  // namespace belay::observe::fabric
