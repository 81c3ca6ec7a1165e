#include "http/metrics.h"

#include <algorithm>

namespace belay::http {

size_t seconds_bucket(double seconds) {
    return static_cast<size_t>(std::ranges::lower_bound(kSecondsBuckets, seconds) - kSecondsBuckets.begin());
}

void Meters::count_request(size_t route, int status, core::Duration took) {
    const double seconds = core::to_seconds(took);
    std::lock_guard lock(mutex_);
    RouteMetrics& metrics = routes_[std::min(route, routes_.size() - 1)];
    ++metrics.requests_by_status[status];
    ++metrics.requests_by_seconds[seconds_bucket(seconds)];
    metrics.seconds += seconds;
}

Metrics Meters::read() const {
    Metrics metrics{.received_bytes = received_bytes,
                    .sent_bytes = sent_bytes,
                    .connections_total = connections,
                    .connections_open = open,
                    .connections_refused_total = refused,
                    .connections_timed_out_total = timed_out,
                    .event_readers_dropped_total = dropped};
    std::lock_guard lock(mutex_);
    metrics.routes = routes_;
    return metrics;
}

}  // namespace belay::http
