#include "server/keeper/history_sources.h"

#include "server/packed/history_pieces.h"

#include <memory>

namespace belay::server {

StreamSources sources_in(History& history) {
    return [&history](const WantedStreams& wanted) {
        return streams_of(
            std::make_shared<HistoryCut>(history),
            {.cluster = wanted.cluster, .node = wanted.node, .range = wanted.range, .needed = wanted.needed});
    };
}

}  // namespace belay::server
