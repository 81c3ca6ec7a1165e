// What all connections of a server share.
#pragma once

#include "http/metrics.h"
#include "http/router.h"
#include "http/server/server.h"
#include "http/workers.h"

#include <atomic>
#include <utility>

namespace belay::http {

struct Service {
    Service(Options options_in, Router router_in, std::vector<RouteMetrics> counted)
        : options(std::move(options_in)),
          router(std::move(router_in)),
          meters(std::move(counted)),
          workers(options.worker_threads, options.most_waiting_jobs) {}

    const Options options;
    const Router router;
    Meters meters;
    Workers workers;
    std::atomic<bool> stopping{false};
};

}  // namespace belay::http
