#include "agent/courier/remote_feed.h"

#include "metrics/remote/series.h"
#include "metrics/row_mapper.h"

#include <algorithm>
#include <iterator>

namespace belay::agent {

namespace remote = metrics::remote;
using metrics::Family;

namespace {

// As Prometheus sends it (metadata_config.send_interval).
constexpr core::Duration kDescribesEvery = std::chrono::minutes(1);

}  // namespace

void RemoteFeed::add(std::vector<Family> families) {
    for (const Family& family : families)
        for (const metrics::Sample& sample : family.samples)
            if (sample.time) newest_ = std::max(*sample.time, newest_.value_or(*sample.time));
    std::ranges::move(families, std::back_inserter(added_));
}

core::Result<> RemoteFeed::push(std::span<const Family> current, core::Time now, bool is_at_end) {
    std::vector<Family> families = std::exchange(added_, {});
    families.insert(families.end(), current.begin(), current.end());
    BELAY_TRY(series, remote::series_of(families, now, external_));
    std::vector<remote::Metadata> metadata;
    if (!described_ || now - *described_ >= kDescribesEvery) {
        described_ = now;
        std::vector<Family> all = metrics::declared_families();
        all.insert(all.end(), current.begin(), current.end());
        metadata = remote::metadata_of(all);
    }
    if (!series.empty() || !metadata.empty()) BELAY_CHECK(sender_.push(series, metadata));
    stale_.saw(series);
    const core::Time seen_to = is_at_end ? now : std::min(now, newest_.value_or(now));
    const std::vector<remote::Series> ended = stale_.ended(seen_to);
    return ended.empty() ? core::Result<>() : sender_.push(ended);
}

core::Result<> RemoteFeed::end() {
    const std::vector<remote::Series> all = stale_.end_all();
    return all.empty() ? core::Result<>() : sender_.push(all);
}

}  // namespace belay::agent
