// The table host: CPU, memory and pressure of the node.
#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

std::unique_ptr<Collector> make_host_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
