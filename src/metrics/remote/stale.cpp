#include "metrics/remote/stale.h"

#include "metrics/number_text.h"

#include <algorithm>
#include <chrono>

namespace belay::metrics::remote {

StaleTracker::StaleTracker(core::Duration silence, size_t most)
    : silence_(std::max<int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(silence).count())),
      most_(most) {}

void StaleTracker::saw(std::span<const Series> series) {
    for (const Series& one : series) {
        if (one.points.empty()) continue;
        auto found = last_.find(one.labels);
        if (one.points.back().stale) {
            if (found != last_.end()) last_.erase(found);
        } else if (found != last_.end()) {
            found->second = std::max(found->second, one.points.back().milliseconds);
        } else if (last_.size() < most_) {
            last_.emplace(one.labels, one.points.back().milliseconds);
        }
    }
}

std::vector<Series> StaleTracker::ended(core::Time now) {
    const int64_t since = milliseconds_of(now) - silence_;
    std::vector<Series> markers;
    for (auto at = last_.begin(); at != last_.end();) {
        if (at->second > since) {
            ++at;
            continue;
        }
        markers.push_back({at->first, {{.milliseconds = at->second + silence_, .stale = true}}});
        at = last_.erase(at);
    }
    return markers;
}

std::vector<Series> StaleTracker::end_all() {
    std::vector<Series> markers;
    for (const auto& [labels, last] : last_)
        markers.push_back({labels, {{.milliseconds = last + 1, .stale = true}}});
    last_.clear();
    return markers;
}

}  // namespace belay::metrics::remote
