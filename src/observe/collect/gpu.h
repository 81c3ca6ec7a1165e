#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

// Table gpu. On a node without GPUs, and for a job that holds none, there are no rows, and none is expected.
std::unique_ptr<Collector> make_gpu_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
