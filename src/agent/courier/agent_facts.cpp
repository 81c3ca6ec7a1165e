#include "agent/courier/agent_facts.h"

#include "schema/tables/coverage.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace belay::agent {

using metrics::Family;
using metrics::Labels;
using metrics::MetricType;
using schema::column;
using schema::kCoverage;

namespace {

struct FamilyBuilder {
    const std::string& node;
    std::vector<Family> families;

    void add(std::string_view name, MetricType type, std::string_view unit, std::string_view help) {
        families.push_back(
            {.name = std::string(name), .type = type, .unit = std::string(unit), .help = std::string(help)});
    }
    void put(double value, Labels more = {}) {
        Labels labels{{"node", node}};
        labels.insert(labels.end(), more.begin(), more.end());
        families.back().samples.push_back({std::move(labels), value});
    }
    void counter(std::string_view name, std::string_view unit, std::string_view help, uint64_t value) {
        add(name, MetricType::kCounter, unit, help);
        put(static_cast<double>(value));
    }
    void gauge(std::string_view name, std::string_view unit, std::string_view help, double value) {
        add(name, MetricType::kGauge, unit, help);
        put(value);
    }
};

// Counts that are shown as they are.
template <typename Counts>
struct CountRow {
    std::string_view name;
    std::string_view unit;
    std::string_view help;
    uint64_t Counts::* count;
};

constexpr CountRow<DeliveryCounts> kDeliveryRows[] = {
    {"belay_agent_shipped_pieces_total", "", "uploads that belayd acknowledged", &DeliveryCounts::pieces},
    {"belay_agent_shipped_blocks_total", "", "blocks that belayd acknowledged", &DeliveryCounts::blocks},
    {"belay_agent_shipped_bytes_total", "bytes", "uploads that belayd acknowledged", &DeliveryCounts::bytes},
    {"belay_agent_upload_failures_total", "", "uploads without a verdict: they are tried again",
     &DeliveryCounts::failures},
    {"belay_agent_refused_pieces_total", "", "uploads that belayd will never take: they are passed over",
     &DeliveryCounts::refused_pieces},
    {"belay_agent_gone_blocks_total", "", "blocks that left the spool before they were sent",
     &DeliveryCounts::gone_blocks},
};

struct OutcomeRow {
    std::string_view outcome;
    uint64_t metrics::remote::SenderCounts::* count;
};
constexpr OutcomeRow kOutcomes[] = {
    {"delivered", &metrics::remote::SenderCounts::delivered},
    {"refused", &metrics::remote::SenderCounts::refused},
    {"dropped", &metrics::remote::SenderCounts::dropped},
    {"too_large", &metrics::remote::SenderCounts::too_large},
};

void add_samples(FamilyBuilder& all, const AgentFacts& facts) {
    if (facts.samples.empty()) return;
    all.add("belay_agent_samples_total", MetricType::kCounter, "", "samples taken and written, by table");
    for (const auto& [table, counts] : facts.samples)
        all.put(static_cast<double>(counts.received), {{"table", table}});
    all.add("belay_agent_missed_samples_total", MetricType::kCounter, "",
            "samples that were due and not taken, by table");
    for (const auto& [table, counts] : facts.samples)
        all.put(static_cast<double>(counts.missed), {{"table", table}});
}

double seconds_since_1970(core::Time time) {
    return static_cast<double>(core::to_microseconds(time)) / 1e6;
}

void add_spool(FamilyBuilder& all, const AgentFacts& facts, core::Time now) {
    if (!facts.spool) return;
    all.gauge("belay_agent_spool_files", "", "files in the spool", static_cast<double>(facts.spool->files));
    all.gauge("belay_agent_spool_bytes", "bytes", "size of the files in the spool",
              static_cast<double>(facts.spool->bytes));
    if (!facts.delivery) return;
    all.gauge("belay_agent_waiting_bytes", "bytes", "what of the spool belayd has not acknowledged",
              static_cast<double>(facts.spool->waiting_bytes));
    const core::Duration age = facts.spool->oldest ? now - *facts.spool->oldest : core::Duration();
    all.gauge("belay_agent_waiting_age_seconds", "seconds", "age of the oldest row that waits for belayd",
              std::max(0.0, core::to_seconds(age)));
}

void add_delivery(FamilyBuilder& all, const DeliveryCounts& counts) {
    for (const auto& row : kDeliveryRows) all.counter(row.name, row.unit, row.help, counts.*row.count);
    if (counts.is_up)
        all.gauge("belay_agent_server_up", "", "1 if the last upload got a verdict of belayd's",
                  *counts.is_up ? 1 : 0);
}

void add_remote_write(FamilyBuilder& all, const metrics::remote::SenderCounts& counts) {
    all.add("belay_agent_remote_write_samples_total", MetricType::kCounter, "",
            "samples for the receiver of metrics, by what became of them");
    for (const OutcomeRow& row : kOutcomes)
        all.put(static_cast<double>(counts.*row.count), {{"outcome", std::string(row.outcome)}});
    all.gauge("belay_agent_remote_write_waiting_samples", "", "samples that wait for the receiver",
              static_cast<double>(counts.waiting));
    all.counter("belay_agent_remote_write_requests_total", "", "requests to the receiver", counts.requests);
    all.counter("belay_agent_remote_write_retries_total", "", "of these, those that had to be repeated",
                counts.tries_again);
}

}  // namespace

void count_rows(AgentFacts& facts, const stream::Batch& rows) {
    const stream::ColumnValues& times = rows.values(0);
    for (size_t row = 0; row < rows.rows(); ++row) {
        if (times.present[row] == 0) continue;
        const core::Time time = core::time_from_nanoseconds(times.integers[row]);
        facts.newest_row = std::max(time, facts.newest_row.value_or(time));
    }
    if (&rows.table() != &kCoverage) return;
    const auto& tables = rows.values(column(kCoverage, "table_name"));
    const auto& expected = rows.values(column(kCoverage, "expected"));
    const auto& received = rows.values(column(kCoverage, "received"));
    for (size_t row = 0; row < rows.rows(); ++row) {
        if (tables.present[row] == 0 || expected.integers[row] < 0 || received.integers[row] < 0) continue;
        SampleCounts& counts = facts.samples[tables.texts[row]];
        const auto due = static_cast<uint64_t>(expected.integers[row]);
        const auto taken = static_cast<uint64_t>(received.integers[row]);
        counts.received += taken;
        counts.missed += due > taken ? due - taken : 0;
    }
}

std::vector<Family> families_of(const AgentFacts& facts, core::Time now) {
    FamilyBuilder all{.node = facts.node, .families = {}};
    all.add("belay_agent_info", MetricType::kInfo, "", "the agent of the node");
    all.put(1, {{"version", facts.version}});
    all.gauge("belay_agent_start_time_seconds", "seconds", "when the agent was started, since 1970",
              seconds_since_1970(facts.began));
    add_samples(all, facts);
    if (facts.newest_row)
        all.gauge("belay_agent_newest_row_time_seconds", "seconds",
                  "time of the newest row of the stream, since 1970", seconds_since_1970(*facts.newest_row));
    all.counter("belay_agent_courier_restarts_total", "",
                "times that the process that sends and answers was started again", facts.restarts);
    all.counter("belay_agent_scrapes_total", "", "requests for /metrics", facts.scrapes);
    all.gauge("belay_agent_series", "", "series of the node that are shown",
              static_cast<double>(facts.series));
    all.counter("belay_agent_left_out_values_total", "",
                "values without room among the series that are shown", facts.left_out_values);
    add_spool(all, facts, now);
    if (facts.delivery) add_delivery(all, *facts.delivery);
    if (facts.remote_write) add_remote_write(all, *facts.remote_write);
    return std::move(all.families);
}

}  // namespace belay::agent
