// The table filesystem: traffic of each disk, and space on each mounted file system that holds data.
#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

std::unique_ptr<Collector> make_filesystem_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
