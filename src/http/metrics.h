// What a server has done so far, as a value.
#pragma once

#include "core/time.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace belay::http {

// Upper ends of the buckets, in seconds; one more bucket holds what took longer.
inline constexpr std::array kSecondsBuckets = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                               0.5,   1.0,   2.5,  5.0,   10.0, 60.0};

struct RouteMetrics {
    std::string method;   // empty for requests that no route took
    std::string pattern;  // the same
    std::map<int, uint64_t> requests_by_status = {};
    std::array<uint64_t, kSecondsBuckets.size() + 1> requests_by_seconds = {};  // each counted in one bucket
    double seconds = 0;  // of all requests, from their head to the end of the response
};

struct Metrics {
    std::vector<RouteMetrics>
        routes;                   // in the order of the table; the last one stands for what no route took
    uint64_t received_bytes = 0;  // without TLS
    uint64_t sent_bytes = 0;
    uint64_t connections_total = 0;          // that were accepted
    uint64_t connections_open = 0;           // now
    uint64_t connections_refused_total = 0;  // for want of room
    uint64_t connections_timed_out_total = 0;
    uint64_t event_readers_dropped_total = 0;  // too slow
    uint64_t waiting_jobs = 0;                 // for a worker, now
};

size_t seconds_bucket(double seconds);

// What counts, from any thread.
class Meters {
  public:
    explicit Meters(std::vector<RouteMetrics> routes) : routes_(std::move(routes)) {}

    // `route`: its place in the table, or the number of routes for none.
    void count_request(size_t route, int status, core::Duration took);
    // Without `waiting_jobs`.
    Metrics read() const;

    std::atomic<uint64_t> received_bytes{0}, sent_bytes{0}, connections{0}, open{0}, refused{0}, timed_out{0},
        dropped{0};

  private:
    mutable std::mutex mutex_;
    std::vector<RouteMetrics> routes_;
};

}  // namespace belay::http
