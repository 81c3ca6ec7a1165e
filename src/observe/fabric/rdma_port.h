// Ports of RDMA adapters: InfiniBand, RoCE, iWARP, EFA. /sys/class/infiniband/DEVICE/ports/PORT.
#pragma once

#include "observe/fabric/port.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace belay::observe::fabric {

// By name and number; none where there is no such adapter. Errors: kSystem where the class cannot be listed.
core::Result<std::vector<PortPlace>> list_rdma_ports(const std::filesystem::path& sys);

// Nothing where it is gone.
std::unique_ptr<Port> open_rdma_port(const PortPlace& place);

}  // namespace belay::observe::fabric
