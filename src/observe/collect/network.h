// The table network: traffic and link state of each network interface.
#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

std::unique_ptr<Collector> make_network_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
