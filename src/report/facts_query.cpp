#include "report/facts_query.h"

#include "core/text.h"
#include "core/units.h"
#include "record/series/kept_series.h"
#include "record/series/make_series.h"
#include "report/format.h"
#include "report/io_query.h"
#include "report/preparation_query.h"
#include "report/program_name.h"
#include "schema/tables/network.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace belay::report {

using core::Result;
using record::as_double;
using record::as_text;

namespace {

void take_manifest(const record::Manifest& manifest, Measurements& data) {
    static_cast<record::JobFacts&>(data.job) = manifest.job;
    if (data.job.name.empty()) data.job.name = program_name(manifest.command);
    data.job.command = core::join(manifest.command, " ");
}

// Where Slurm ended the job, that is why its tasks ended by SIGTERM or SIGKILL, or did not say how.
Result<> take_end_of_job(record::Archive& archive, double first_code, Job& job) {
    const bool was_killed = first_code == -SIGTERM || first_code == -SIGKILL;
    if (job.outcome != "unknown" && !(job.outcome == "failed" && was_killed)) return {};
    BELAY_TRY(
        end,
        archive.query(
            "SELECT message FROM event WHERE kind = 'job_end' AND subject NOT IN ('COMPLETED', 'FAILED') "
            "ORDER BY time LIMIT 1"));
    if (end.rows.empty()) return {};
    job.outcome = "failed";
    job.failure = as_text(end.rows[0][0]);
    return {};
}

// Every task says how it ended. The first that ended badly is the one to look at: the others follow it.
Result<> find_outcome(record::Archive& archive, bool being_written, Measurements& data) {
    BELAY_TRY(
        ends,
        archive.query(
            "SELECT node, task, severity, message, code FROM event WHERE kind = 'task_end' ORDER BY time"));
    Job& job = data.job;
    size_t tasks = 0;
    for (const NodeFacts& node : data.nodes) tasks += static_cast<size_t>(node.tasks.value_or(1));
    auto bad = std::ranges::find_if(ends.rows, [](const auto& row) { return as_text(row[2]) == "critical"; });
    if (bad != ends.rows.end()) {
        double task = as_double((*bad)[1]);
        std::string message = as_text((*bad)[3]);
        job.outcome = "failed";
        const double code = as_double((*bad)[4]);  // a signal is less than 0
        if (code >= 0) job.exit_status = static_cast<int64_t>(code);
        job.failure = is_missing(task)
                          ? message
                          : fmt::format("rank {:.0f} on {}: {}", task, as_text((*bad)[0]), message);
    } else if (being_written) {
        job.outcome = "running";
    } else if (!ends.rows.empty() && ends.rows.size() >= tasks) {
        job.outcome = "completed";
        job.exit_status = 0;
    } else {
        job.outcome = "unknown";
    }
    BELAY_CHECK(take_end_of_job(archive, bad != ends.rows.end() ? as_double((*bad)[4]) : kMissing, job));
    bool ended = job.outcome == "completed" || job.outcome == "failed";
    if (ended && !job.end) job.end = data.start + core::Duration(static_cast<int64_t>(data.seconds * 1e9));
    return {};
}

// "2 × 16 CPUs, 64.0 GiB": nodes that are alike share a line.
FactGroup hardware(const Measurements& data) {
    std::map<std::pair<int64_t, int64_t>, size_t> kinds;
    for (const NodeFacts& node : data.nodes) ++kinds[{node.cpus.value_or(0), node.memory_bytes.value_or(0)}];
    FactGroup group{.title = "Hardware", .facts = {}};
    for (const auto& [kind, count] : kinds) {
        const auto& [cpus, memory] = kind;
        std::string value = fmt::format("{} ×", count);
        if (cpus > 0) value += fmt::format(" {}", format_count(static_cast<size_t>(cpus), "CPU"));
        if (memory > 0)
            value +=
                fmt::format("{} {}", cpus > 0 ? "," : "", format_quantity(static_cast<double>(memory), "B"));
        if (cpus > 0 || memory > 0) group.facts.push_back({"Nodes", value});
    }
    return group;
}

std::string decimal_bytes(double bytes) {
    return core::format_decimal({static_cast<uint64_t>(std::max(0.0, bytes))});
}

using schema::kNetworkTotals;
using schema::kNetworkTotalsColumns;
constexpr record::SpanFrame kAllTime = record::one_span(0);
constexpr size_t kMostInterfaces = 8;

using Traffic =
    std::pair<std::string, std::array<double, kNetworkTotalsColumns.size()>>;  // of a device; NaN: not known

double bytes_of(const Traffic& traffic) {
    return traffic.second[0] + traffic.second[1];
}

// Of those with traffic, on all nodes together, the busiest first.
Result<std::vector<Traffic>> busiest_interfaces(record::Archive& archive) {
    BELAY_TRY(nodes, record::nodes_in(archive, schema::kNetwork));
    BELAY_TRY(made, record::make_series(archive, schema::kNetworkTotalsSeries, kAllTime, std::move(nodes)));
    std::map<std::string, Traffic::second_type> by_device;
    for (size_t row = 0; row < made.rows(); ++row) {
        const std::string& device = made.values(column(kNetworkTotals, "device")).texts[row];
        auto& totals =
            by_device.try_emplace(device, Traffic::second_type{kMissing, kMissing, kMissing, kMissing})
                .first->second;
        for (size_t i = 0; i < totals.size(); ++i) {
            const stream::ColumnValues& values = made.values(column(kNetworkTotals, "received_bytes") + i);
            if (values.present[row] != 0)
                totals[i] = is_missing(totals[i]) ? values.reals[row] : totals[i] + values.reals[row];
        }
    }
    std::vector<Traffic> interfaces(by_device.begin(), by_device.end());
    std::erase_if(interfaces, [](const Traffic& traffic) { return !(bytes_of(traffic) > 0); });
    std::ranges::stable_sort(interfaces, std::ranges::greater{}, bytes_of);
    if (interfaces.size() > kMostInterfaces) interfaces.resize(kMostInterfaces);
    return interfaces;
}

Result<record::QueryResult> interface_rows(record::Archive& archive) {
    std::vector<std::string> columns = {"device"};
    for (const schema::SampledSeries& total : kNetworkTotalsColumns) columns.emplace_back(total.series.name);
    const std::string question =
        fmt::format("the busiest {} interfaces in network: {}", kMostInterfaces,
                    record::series_facts({&schema::kNetworkTotalsSeries, 1}, kAllTime));
    return archive.made_kept(question, columns, [&]() -> Result<record::QueryResult> {
        BELAY_TRY(interfaces, busiest_interfaces(archive));
        record::QueryResult answer{.columns = columns, .rows = {}};
        for (const auto& [device, totals] : interfaces) {
            auto& row = answer.rows.emplace_back(1, device);
            for (double total : totals) row.push_back(is_missing(total) ? record::Value() : total);
        }
        return answer;
    });
}

Result<FactGroup> interfaces(record::Archive& archive) {
    BELAY_TRY(answer, interface_rows(archive));
    FactGroup group{.title = "Network interfaces", .facts = {}};
    for (const auto& row : answer.rows) {
        std::string value = fmt::format("{} received, {} sent", decimal_bytes(as_double(row[1])),
                                        decimal_bytes(as_double(row[2])));
        if (as_double(row[3]) > 0) value += fmt::format(", {:.0f} errors", as_double(row[3]));
        if (as_double(row[4]) > 0) value += fmt::format(", {:.0f} dropped", as_double(row[4]));
        group.facts.push_back({as_text(row[0]), value});
    }
    return group;
}

// As they were at the end, on the node that had least space left; those in memory last.
Result<FactGroup> filesystems(record::Archive& archive) {
    constexpr int kMost = 8;
    constexpr int64_t kWorthNaming = 1 << 20;  // bytes: smaller ones are somebody's plumbing
    BELAY_TRY(answer, archive.query_kept(fmt::format(
                          R"(WITH last AS (
                               SELECT node, name, arg_max(type, time) AS type, arg_max(size_bytes, time) AS size,
                                      arg_max(available_bytes, time) AS available
                               FROM filesystem WHERE kind = 'mount' AND size_bytes >= {} GROUP BY node, name)
                             SELECT name, arg_min(type, available), arg_min(size, available), min(available) FROM last
                             GROUP BY name
                             ORDER BY arg_min(type, available) IN ('tmpfs', 'devtmpfs'), max(size) DESC, name LIMIT {})",
                          kWorthNaming, kMost)));
    FactGroup group{.title = "File systems", .facts = {}};
    for (const auto& row : answer.rows)
        group.facts.push_back({as_text(row[0]), fmt::format("{}, {} free of {}", as_text(row[1]),
                                                            format_quantity(as_double(row[3]), "B"),
                                                            format_quantity(as_double(row[2]), "B"))});
    return group;
}

FactGroup software(const record::Manifest& manifest) {
    FactGroup group{.title = "Software", .facts = {}};
    for (const auto& [name, value] : manifest.software) group.facts.push_back({name, value});
    return group;
}

FactGroup sampling(const record::RecordInfo& info) {
    const record::Manifest& manifest = info.manifest;
    return {.title = "Recording",
            .facts = {{"Interval", format_duration(core::to_seconds(manifest.interval))},
                      {"Written every", format_duration(core::to_seconds(manifest.flush))},
                      {"Schema", fmt::format("version {}", manifest.schema)},
                      {"Sealed",
                       manifest.sealed ? core::format_time(*manifest.sealed).substr(0, 19) + "Z" : "no"}}};
}

}  // namespace

Result<> query_facts(record::Archive& archive, const record::RecordInfo& info, Measurements& data) {
    take_manifest(info.manifest, data);
    BELAY_CHECK(find_outcome(archive, info.being_written, data));
    BELAY_TRY(network, interfaces(archive));
    BELAY_TRY(storage, filesystems(archive));
    BELAY_TRY(traced, traced_io(archive));
    BELAY_TRY(vetting, vetting_facts(archive));
    BELAY_TRY(staged, staging_facts(archive));
    data.vetting = vetting_verdict(info.manifest);
    for (FactGroup group :
         {environment_facts(info.manifest), std::move(vetting), std::move(staged), hardware(data),
          std::move(network), std::move(storage), std::move(traced), software(info.manifest), sampling(info)})
        if (!group.facts.empty()) data.facts.push_back(std::move(group));
    auto version = info.manifest.software.find("belay");
    data.producer =
        version == info.manifest.software.end() ? "Belay" : fmt::format("Belay {}", version->second);
    return {};
}

}  // namespace belay::report
