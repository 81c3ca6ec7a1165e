// Which series have ended, so that their last value does not stand in queries and graphs for minutes more: each gets a
// stale marker (remote write 1.0, "Stale Markers").
//
// A series has ended when nothing came of it for a while, whoever sampled it: the tables come at different times, and a
// source that hangs sends nothing. Not thread-safe.
#pragma once

#include "core/time.h"
#include "metrics/remote/series.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace belay::metrics::remote {

class StaleTracker {
  public:
    // `silence`: some sampling intervals; less than the five minutes for which Prometheus shows a last value.
    // Series beyond `most` get no marker.
    explicit StaleTracker(core::Duration silence, size_t most = 100'000);

    // Notes what was sent.
    void saw(std::span<const Series> series);
    // A marker for each series of which nothing came in the `silence` before `now`, at the end of that; it is forgotten.
    std::vector<Series> ended(core::Time now);
    // One for each series, a millisecond after its last point: the sender ends.
    std::vector<Series> end_all();

    size_t series() const { return last_.size(); }

  private:
    int64_t silence_;  // milliseconds
    size_t most_;
    std::map<Labels, int64_t> last_;  // milliseconds of its last point
};

}  // namespace belay::metrics::remote
