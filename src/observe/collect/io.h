// The table io: what the traced programs of the job did on each file system.
#pragma once

#include "observe/collect/collector.h"

namespace belay::observe::collect {

// Owes no rows where the job is not traced.
std::unique_ptr<Collector> make_io_collector(const CollectOptions& options);

}  // namespace belay::observe::collect
