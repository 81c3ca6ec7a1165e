// What belayd has done besides answering requests, as metric families. Pure.
#pragma once

#include "metrics/model.h"
#include "server/keeper/job_keeper.h"

#include <cstddef>
#include <vector>

namespace belay::server {

struct DaemonCounts {
    KeeperCounts keeper;
    size_t event_readers = 0;
    size_t block_places = 0;
};
std::vector<metrics::Family> daemon_families(const DaemonCounts& counts);

}  // namespace belay::server
