// The bandwidth between two nodes over TCP: one listens, the other connects, and bytes flow first one way,
// then the other.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "transfer/socket.h"

#include <cstdint>
#include <string>

namespace belay::transfer {

struct PairOptions {
    std::string secret;
    std::string name;  // of this measurement, the same on both sides: connections of another are turned away
    core::Duration duration =
        std::chrono::milliseconds(500);  // of each direction, after a quarter of it to warm up
    int streams = 1;                     // connections side by side, 1 to 16
    Deadline deadline{};
};

// What this side received, in bytes per second. Each side learns one direction. Errors: kSystem if the other
// does not come, or a connection ends before the measurement does; kBadInput for streams or a duration out of
// range.
core::Result<double> measure_as_listener(int listener, const PairOptions& options);
core::Result<double> measure_as_connector(const std::string& address, uint16_t port,
                                          const PairOptions& options);

// How long a measurement may take when both sides are there at once.
core::Duration longest_pair_time(core::Duration duration);

}  // namespace belay::transfer
