// Samples of the agent for a receiver of metrics, by remote write (metrics/remote/sender.h): what came since the last time,
// what holds now, and the markers of series that have ended. Not thread-safe, but for the sender.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "metrics/model.h"
#include "metrics/remote/sender.h"
#include "metrics/remote/stale.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace belay::agent {

class RemoteFeed {
  public:
    // `silence`: after which a series has ended; `external`: labels of the whole site. The sender must live longer.
    RemoteFeed(metrics::remote::Sender& sender, core::Duration silence, metrics::Labels external)
        : sender_(sender), stale_(silence), external_(std::move(external)) {}

    // Samples with their times, for the next push().
    void add(std::vector<metrics::Family> families);
    // Hands what was added to the sender, and `current`, samples of `now`. While there is more to be read of the stream,
    // `is_at_end` is false: then only what is older than the newest row can have ended. Errors: kBadInput of
    // metrics::remote::series_of(); kSystem.
    core::Result<> push(std::span<const metrics::Family> current, core::Time now, bool is_at_end);
    // Markers for all series: the agent ends. Errors: kSystem.
    core::Result<> end();

  private:
    metrics::remote::Sender& sender_;
    metrics::remote::StaleTracker stale_;
    metrics::Labels external_;
    std::vector<metrics::Family> added_;
    std::optional<core::Time> newest_;
    std::optional<core::Time> described_;  // when the receiver was last told what the families are
};

}  // namespace belay::agent
