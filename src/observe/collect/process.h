// The table process: the job's processes.
#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

std::unique_ptr<Collector> make_process_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
