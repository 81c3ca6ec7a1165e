#include "server/belayd/daemon_families.h"

#include <string>
#include <string_view>

namespace belay::server {

using metrics::MetricType;

namespace {

struct CountRow {
    std::string_view name;
    MetricType type;
    std::string_view help;
    double (*value)(const DaemonCounts&);
};

constexpr CountRow kCountRows[] = {
    {"belay_server_is_keeper", MetricType::kGauge, "1 where this belayd follows the jobs of the site",
     [](const DaemonCounts& counts) { return counts.keeper.is_keeper ? 1.0 : 0.0; }},
    {"belay_server_followed_jobs", MetricType::kGauge, "jobs that are followed",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.jobs); }},
    {"belay_server_waiting_records", MetricType::kGauge, "records that wait to be made",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.waiting_records); }},
    {"belay_server_records_total", MetricType::kCounter, "records that were made",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.records_made); }},
    {"belay_server_failed_records_total", MetricType::kCounter, "records that could not be made",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.records_failed); }},
    {"belay_server_slurm_failures_total", MetricType::kCounter, "times that Slurm did not answer",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.slurm_failures); }},
    {"belay_server_failed_rounds_total", MetricType::kCounter, "times that following jobs failed",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.keeper.failed_rounds); }},
    {"belay_server_event_readers", MetricType::kGauge, "readers of events of running jobs",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.event_readers); }},
    {"belay_server_block_places", MetricType::kGauge, "pieces of uploads in the block log that can be read",
     [](const DaemonCounts& counts) { return static_cast<double>(counts.block_places); }},
};

}  // namespace

std::vector<metrics::Family> daemon_families(const DaemonCounts& counts) {
    std::vector<metrics::Family> families;
    for (const CountRow& row : kCountRows)
        families.push_back({.name = std::string(row.name),
                            .type = row.type,
                            .help = std::string(row.help),
                            .samples = {{.labels = {}, .value = row.value(counts)}}});
    return families;
}

}  // namespace belay::server
