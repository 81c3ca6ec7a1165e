#include "report/query.h"

#include "core/text.h"
#include "record/archive/recorded_span.h"
#include "record/archive/sampling_interval.h"
#include "record/series/allotment.h"
#include "record/series/spans.h"
#include "report/facts_query.h"
#include "report/format.h"
#include "report/plot_store.h"
#include "report/progress_query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace belay::report {

using core::Result;
using record::as_double;
using record::as_text;

namespace {

// The tables that are sampled on every tick whatever the job does. A process table without rows may only say
// that there was no process.
constexpr std::string_view kSteadyTables[] = {"host", "network", "filesystem"};

constexpr size_t kMostGaps = 40;
constexpr size_t kMostEvents = 500;

// The recorded time. Rules ask about that which was sampled, a score about that for which something was held
// (docs/decisions/0009).
Result<> find_recorded_time(record::Archive& archive, double interval, Measurements& data) {
    BELAY_TRY(span, record::recorded_span(archive));
    if (!span) {
        data.start = archive.manifest().job.start.value_or(archive.manifest().created);
        return {};
    }
    data.start = span->first;
    data.seconds = core::to_seconds(span->last - span->first);
    size_t nodes = std::max<size_t>(1, data.nodes.size());
    auto most = static_cast<double>(std::clamp<size_t>(kMostCells / nodes, 60, kMostPoints));
    data.bucket_seconds = std::max(interval, data.seconds / most);
    data.buckets =
        static_cast<size_t>(std::clamp(std::ceil(data.seconds / data.bucket_seconds - 1e-9), 0.0, most));
    return {};
}

// Every node that left a row, in the order of the job; a job may have nodes on which this step did not run.
Result<> find_nodes(record::Archive& archive, Measurements& data) {
    BELAY_TRY(answer, archive.query_kept(fmt::format(R"(
        SELECT node, max(cpu_count), max(cpus), max(memory_total_bytes), max(tasks) FROM (
          SELECT node, cpu_count, NULL AS cpus, memory_total_bytes, NULL AS tasks FROM host
          UNION ALL SELECT node, NULL, NULL, NULL, tasks FROM allocation
          UNION ALL SELECT node, NULL, cpus, NULL, NULL FROM ({})
          UNION ALL SELECT node, NULL, NULL, NULL, NULL FROM (
            SELECT node FROM coverage UNION SELECT node FROM network
            UNION SELECT node FROM filesystem UNION SELECT node FROM process))
        WHERE node IS NOT NULL GROUP BY node ORDER BY node)",
                                                     record::kAllotmentSql)));
    auto integer = [](const record::Value& value) -> std::optional<int64_t> {
        double number = as_double(value);
        if (is_missing(number)) return std::nullopt;
        return static_cast<int64_t>(number);
    };
    for (const auto& row : answer.rows)
        data.nodes.push_back({.name = as_text(row[0]),
                              .cpus = integer(row[1]),
                              .cpus_allotted = integer(row[2]),
                              .memory_bytes = integer(row[3]),
                              .tasks = integer(row[4])});
    std::map<std::string, size_t> place;
    const std::vector<std::string>& order = archive.manifest().job.nodes;
    for (size_t i = 0; i < order.size(); ++i) place.emplace(order[i], i);
    auto rank = [&](const NodeFacts& node) {
        auto found = place.find(node.name);
        return found == place.end() ? order.size() : found->second;
    };
    std::ranges::stable_sort(data.nodes, {}, rank);
    return {};
}

// Time without samples between two, or from the start or to the end of what was due.
// It is told of any table that should have rows on every tick, also where no recorder ran; the rule
// sampling_gap counts the samples that a recorder says it missed.
Result<> find_silent_times(record::Archive& archive, double interval, Measurements& data) {
    std::map<std::pair<std::string, int64_t>, Gap>
        merged;  // by node and start in milliseconds: tables share their ticks
    for (std::string_view table : kSteadyTables) {
        BELAY_TRY(answer, archive.query_kept(fmt::format(
                              R"(WITH due AS (
                                   SELECT node, epoch_us(min(t0)) AS due_from, epoch_us(max(t1)) AS due_to
                                   FROM allocation GROUP BY node),
                                 steps AS ({steps}),
                                 pauses AS (
                                   SELECT node, epoch_us(t1) AS begins, epoch_us(lead(t0) OVER (PARTITION BY node ORDER BY t0)) AS ends
                                   FROM steps QUALIFY ends > begins),
                                 moments AS (
                                   SELECT node, epoch_us(time) AS moment FROM {table}
                                   UNION ALL SELECT node, due_from FROM due WHERE due_from IS NOT NULL
                                   UNION ALL SELECT node, coalesce(due_to, {end}) FROM due
                                   UNION ALL SELECT node, begins FROM pauses UNION ALL SELECT node, ends FROM pauses),
                                 lengths AS (
                                   SELECT node, lag(moment) OVER (PARTITION BY node ORDER BY moment) AS before,
                                          moment - before AS length FROM moments)
                                 SELECT lengths.* FROM lengths
                                 ANTI JOIN pauses ON pauses.node = lengths.node AND before >= begins
                                                 AND before + length <= ends
                                 WHERE length > {longest} ORDER BY length DESC)",
                              fmt::arg("steps", record::kAllotmentSql), fmt::arg("table", table),
                              fmt::arg("longest", record::kLongestStep * interval * 1e6),
                              fmt::arg("end", core::to_microseconds(data.start) +
                                                  static_cast<int64_t>(data.seconds * 1e6)))));
        for (const auto& row : answer.rows) {
            double start = (as_double(row[1]) - static_cast<double>(core::to_microseconds(data.start))) / 1e6;
            auto [found, is_new] =
                merged.try_emplace({as_text(row[0]), std::llround(start * 1000)},
                                   Gap{as_text(row[0]), std::string(table), start, as_double(row[2]) / 1e6});
            if (!is_new) found->second.table += fmt::format(", {}", table);
        }
    }
    for (auto& [key, gap] : merged) data.gaps.push_back(std::move(gap));
    data.gaps_total = data.gaps.size();
    std::ranges::stable_sort(data.gaps, std::ranges::greater{}, &Gap::seconds);
    if (data.gaps.size() > kMostGaps) data.gaps.resize(kMostGaps);
    return {};
}

// The most severe ones first if there are too many.
Result<> find_events(record::Archive& archive, Measurements& data) {
    BELAY_TRY(answer,
              archive.query(fmt::format(
                  R"(SELECT (epoch_us(time) - {}) / 1e6, node, task, kind, severity, message, count(*) OVER ()
                             FROM event ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, time
                             LIMIT {})",
                  core::to_microseconds(data.start), kMostEvents)));
    for (const auto& row : answer.rows) {
        double task = as_double(row[2]);
        data.events.push_back(
            {.seconds = as_double(row[0]),
             .node = as_text(row[1]),
             .task = is_missing(task) ? std::nullopt : std::optional(static_cast<int64_t>(task)),
             .kind = as_text(row[3]),
             .severity = as_text(row[4]),
             .message = as_text(row[5])});
        data.events_total = static_cast<size_t>(as_double(row[6]));
    }
    std::ranges::stable_sort(data.events, {}, &Event::seconds);
    return {};
}

void say_what_is_lost(const record::RecordInfo& info, Measurements& data) {
    for (const stream::Lost& lost : info.lost) {
        std::string what = lost.file;
        if (lost.has_place())
            what = fmt::format("{} of {} from byte {} on",
                               format_quantity(static_cast<double>(lost.bytes), "B"), lost.file, lost.offset);
        data.lost.push_back(fmt::format("{}: {}", what, lost.reason));
    }
    std::set<std::string_view> recorded;
    for (const NodeFacts& node : data.nodes) recorded.insert(node.name);
    std::vector<std::string> silent;
    for (const std::string& node : info.manifest.job.nodes)
        if (!recorded.contains(node)) silent.push_back(node);
    if (silent.empty()) return;
    constexpr size_t kMostNames = 8;
    size_t more = silent.size() - std::min(silent.size(), kMostNames);
    silent.resize(silent.size() - more);
    data.lost.push_back(fmt::format("nothing was recorded on {}{}, of the nodes that the job had",
                                    core::join(silent, ", "),
                                    more > 0 ? fmt::format(" and {} more", more) : ""));
}

}  // namespace

Result<Measurements> measure_axes(record::Archive& archive) {
    Measurements data;
    BELAY_TRY(interval, record::sampling_interval(archive));
    data.interval_seconds = interval;
    BELAY_CHECK(find_nodes(archive, data));
    BELAY_CHECK(find_recorded_time(archive, data.interval_seconds, data));
    return data;
}

Result<Measurements> measure(record::Archive& archive) {
    BELAY_TRY(info, archive.info());
    BELAY_TRY(data, measure_axes(archive));
    BELAY_CHECK(query_plots(archive, data));
    BELAY_CHECK(query_progress(archive, data));
    BELAY_CHECK(find_events(archive, data));
    BELAY_CHECK(find_silent_times(archive, data.interval_seconds, data));
    BELAY_TRY(samples, archive.sample_counts());
    data.samples = std::move(samples);
    BELAY_CHECK(query_facts(archive, info, data));
    say_what_is_lost(info, data);
    return data;
}

Result<ReportModel> build_model(record::Archive& archive) {
    BELAY_TRY(data, measure(archive));
    return assemble(data);
}

}  // namespace belay::report
