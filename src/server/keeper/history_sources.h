// Streams for cuts, of all that belayd has: packed and not.
#pragma once

#include "server/packed/history.h"
#include "server/records/cut_blocks.h"

namespace belay::server {

// The history outlives it. Thread-safe, as far as each cut has what it gives for itself.
StreamSources sources_in(History& history);

}  // namespace belay::server
