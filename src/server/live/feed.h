// Finds what happened to running jobs that somebody reads events of, and gives it to the hub: each event of the nodes of a job in its
// time, as a record has them. One look a second, whatever the number of readers.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/blocks/block_tail.h"
#include "server/live/hub.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belay::server {

// A running job as the feed has to know it.
struct LiveJob {
    std::string key;
    std::string cluster;
    std::vector<std::string> nodes;
    core::Time from;  // nothing before
};

// Not thread-safe.
class LiveFeed {
  public:
    // Both outlive it.
    LiveFeed(const Intake& intake, LiveHub& hub, core::Clock& clock)
        : intake_(&intake), hub_(&hub), clock_(&clock) {}

    // Publishes, as events "event", the rows of the table of that name that came since the last round and are not older than a minute. `jobs`:
    // those with readers. Errors: kSystem, where blocks cannot be read; the rest was published.
    core::Result<> round(const std::vector<LiveJob>& jobs);

  private:
    core::Result<> look(const LiveJob& live, BlockTail& tail);

    const Intake* intake_;
    LiveHub* hub_;
    core::Clock* clock_;
    std::map<std::string, BlockTail> tails_;  // by job
};

// The rows of a batch as JSON objects by column; what is null is left out. Pure.
std::vector<std::pair<core::Time, std::string>> event_rows_json(const stream::Batch& batch);

}  // namespace belay::server
