#include "server/api/http_families.h"

#include <string>

namespace belay::server {

using metrics::Family;
using metrics::Labels;
using metrics::MetricType;

namespace {

Family counter(std::string name, std::string help, uint64_t value, std::string unit = {}) {
    return {.name = std::move(name),
            .type = MetricType::kCounter,
            .unit = std::move(unit),
            .help = std::move(help),
            .samples = {{.labels = {}, .value = static_cast<double>(value)}}};
}

Family gauge(std::string name, std::string help, uint64_t value) {
    return {.name = std::move(name),
            .help = std::move(help),
            .samples = {{.labels = {}, .value = static_cast<double>(value)}}};
}

Labels labels_of(const http::RouteMetrics& route) {
    // What no route took has neither method nor pattern, and empty labels are left out.
    return {{"method", route.method}, {"route", route.pattern.empty() ? "none" : route.pattern}};
}

metrics::Histogram histogram_of(const http::RouteMetrics& route) {
    metrics::Histogram histogram;
    histogram.bounds.assign(http::kSecondsBuckets.begin(), http::kSecondsBuckets.end());
    uint64_t sum = 0;
    for (const uint64_t count : route.requests_by_seconds) histogram.counts.push_back(sum += count);
    histogram.sum = route.seconds;
    return histogram;
}

}  // namespace

std::vector<Family> http_families(const http::Metrics& counted) {
    Family requests{.name = "belay_http_requests_total",
                    .type = MetricType::kCounter,
                    .help = "requests by route and status"};
    Family seconds{.name = "belay_http_request_seconds",
                   .type = MetricType::kHistogram,
                   .unit = "seconds",
                   .help = "from a request's head to the end of its response"};
    for (const http::RouteMetrics& route : counted.routes) {
        Labels labels = labels_of(route);
        for (const auto& [status, count] : route.requests_by_status) {
            Labels with_status = labels;
            with_status.push_back({"status", std::to_string(status)});
            requests.samples.push_back(
                {.labels = std::move(with_status), .value = static_cast<double>(count)});
        }
        if (!route.requests_by_status.empty())
            seconds.samples.push_back({.labels = std::move(labels), .value = histogram_of(route)});
    }
    return {
        std::move(requests),
        std::move(seconds),
        counter("belay_http_received_bytes_total", "bytes received, without those of TLS",
                counted.received_bytes, "bytes"),
        counter("belay_http_sent_bytes_total", "bytes sent, without those of TLS", counted.sent_bytes,
                "bytes"),
        counter("belay_http_connections_total", "connections that were accepted", counted.connections_total),
        gauge("belay_http_open_connections", "connections now", counted.connections_open),
        counter("belay_http_refused_connections_total", "connections refused for want of room",
                counted.connections_refused_total),
        counter("belay_http_timed_out_connections_total", "connections ended because the client was too slow",
                counted.connections_timed_out_total),
        counter("belay_http_dropped_event_readers_total", "readers of events that were too slow",
                counted.event_readers_dropped_total),
        gauge("belay_http_waiting_jobs", "pieces of work that wait for a thread", counted.waiting_jobs)};
}

}  // namespace belay::server
