#include "report/plot_store.h"

#include "record/series/kept_series.h"
#include "report/query.h"
#include "report/series_query.h"
#include "schema/tables/allocation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::report {

using core::Result;

namespace {

constexpr std::array<const schema::Table*, 2> kKept = {&schema::kPlotSeries, &schema::kPlotSummary};
constexpr size_t kFirstPlot = std::size(schema::kSpanColumns);  // of plot_series

// Raised when the CPUs that a job may use, or the summary, are made in another way.
constexpr int kModel = 1;

std::string facts_of(const Measurements& data) {
    return fmt::format("plots {}; {}", kModel, record::series_facts(schema::kPlotSources, frame_of(data)));
}

core::Time start_of(const Measurements& data, size_t bucket) {
    const double since = static_cast<double>(bucket) * data.bucket_seconds * 1e6;
    return data.start + std::chrono::microseconds(static_cast<int64_t>(since));
}

stream::Batch series_rows(const Measurements& data) {
    stream::Batch rows(schema::kPlotSeries);
    for (size_t node = 0; node < data.nodes.size(); ++node)
        for (size_t bucket = 0; bucket < data.buckets; ++bucket) {
            const size_t cell = node * data.buckets + bucket;
            auto known = [&](const NodeValues& plot) {
                return !plot.empty() && !is_missing(plot.values[cell]);
            };
            if (std::ranges::none_of(data.plots, known)) continue;
            rows.add_row(start_of(data, bucket), data.nodes[node].name);
            for (size_t plot = 0; plot < data.plots.size(); ++plot)
                if (known(data[plot])) rows.set(kFirstPlot + plot, data[plot].values[cell]);
        }
    return rows;
}

stream::Batch summary_rows(const Measurements& data) {
    stream::Batch rows(schema::kPlotSummary);
    for (size_t node = 0; node < data.nodes.size(); ++node)
        for (size_t plot = 0; plot < data.plots.size(); ++plot) {
            if (data[plot].empty() || is_missing(data[plot].means[node])) continue;
            rows.add_row(data.start, data.nodes[node].name);
            rows.set(column(schema::kPlotSummary, "quantity"), schema::kNodePlots[plot].series.name);
            rows.set(column(schema::kPlotSummary, "mean"), data[plot].means[node]);
            rows.set(column(schema::kPlotSummary, "highest"), data[plot].peaks[node]);
        }
    return rows;
}

using NodeIndex = std::map<std::string, size_t, std::less<>>;

// What has no row is missing, and a plot without rows is none.
Result<> load_summary(record::Archive& archive, const NodeIndex& nodes, Measurements& data) {
    std::map<std::string, size_t, std::less<>> plots;
    for (size_t i = 0; i < schema::kNodePlotCount; ++i) plots.emplace(schema::kNodePlots[i].series.name, i);
    BELAY_TRY(answer, archive.query("SELECT node, quantity, mean, highest FROM plot_summary"));
    for (const auto& row : answer.rows) {
        const auto node = nodes.find(record::as_text(row[0]));
        const auto plot = plots.find(record::as_text(row[1]));
        if (node == nodes.end() || plot == plots.end()) continue;
        NodeValues& target = data[plot->second];
        if (target.empty()) target = NodeValues::missing(data.nodes.size(), data.buckets);
        target.means[node->second] = record::as_double(row[2]);
        target.peaks[node->second] = record::as_double(row[3]);
    }
    return {};
}

Result<> load_series(record::Archive& archive, const NodeIndex& nodes, Measurements& data) {
    record::ScanRequest request{.table = &schema::kPlotSeries,
                                .numbers = {},
                                .texts = {1},
                                .hashes = {},
                                .formulas = {},
                                .filter = {},
                                .splits = {}};
    std::vector<size_t> plots;
    for (size_t plot = 0; plot < data.plots.size(); ++plot) {
        if (data[plot].empty()) continue;
        plots.push_back(plot);
        request.numbers.push_back(kFirstPlot + plot);
    }
    return archive.scan(request, [&](size_t, const record::ScanRows& rows) -> Result<> {
        for (size_t row = 0; row < rows.size(); ++row) {
            const auto node = nodes.find(rows.text(0, row));
            const double bucket =
                std::round(core::to_seconds(rows.time(row) - data.start) / data.bucket_seconds);
            if (node == nodes.end() || !(bucket >= 0) || bucket >= static_cast<double>(data.buckets))
                continue;
            const size_t cell = node->second * data.buckets + static_cast<size_t>(bucket);
            for (size_t i = 0; i < plots.size(); ++i) data[plots[i]].values[cell] = rows.numbers(i)[row];
        }
        return {};
    });
}

Result<> load(record::Archive& archive, Measurements& data) {
    NodeIndex nodes;
    for (size_t i = 0; i < data.nodes.size(); ++i) nodes[data.nodes[i].name] = i;
    BELAY_CHECK(load_summary(archive, nodes, data));
    return load_series(archive, nodes, data);
}

bool has_axes(const Measurements& data) {
    return data.buckets > 0 && !data.nodes.empty();
}

// Of what is left of a record, plots would stay when the rest can be read again.
bool can_read_sources(const record::Archive& archive) {
    auto is_read = [&](const schema::Table& table) { return !archive.unreadable().contains(table.name); };
    return is_read(schema::kAllocation) &&
           std::ranges::all_of(schema::kPlotSources,
                               [&](const schema::SeriesTable& source) { return is_read(*source.source); });
}

}  // namespace

Result<bool> load_plots(record::Archive& archive, Measurements& data) {
    BELAY_TRY(attached, record::attach_kept(archive, kKept, facts_of(data)));
    if (!attached) return false;
    auto loaded = load(archive, data);
    for (const schema::Table* table : kKept) BELAY_CHECK(archive.detach(*table));
    if (loaded) return true;
    data.plots = {};
    if (loaded.error().kind() != core::ErrorKind::kBadInput)
        return std::unexpected(std::move(loaded.error()));
    return false;
}

Result<> query_plots(record::Archive& archive, Measurements& data) {
    if (!has_axes(data)) return {};
    BELAY_TRY(loaded, load_plots(archive, data));
    if (loaded) return {};
    return read_plots(archive, data);
}

Result<> keep_plots(record::Archive& archive, const std::filesystem::path& record) {
    if (!archive.manifest().sealed)
        return core::bad_input("{} is not sealed", record.string())
            .hint("seal it first: belay record seal RECORD");
    BELAY_TRY(data, measure_axes(archive));
    if (!has_axes(data) || !can_read_sources(archive)) return {};
    BELAY_TRY(claim, record::claim_record(record));
    const std::string facts = facts_of(data);
    BELAY_TRY(kept, record::attach_kept(archive, kKept, facts));
    if (kept) return {};
    BELAY_CHECK(read_plots(archive, data));
    const stream::Batch summary = summary_rows(data);
    if (summary.empty()) return {};
    BELAY_CHECK(record::keep_table(claim, series_rows(data), facts));
    return record::keep_table(claim, summary, facts);
}

Result<> add_plots(record::Archive& archive) {
    BELAY_TRY(data, measure_axes(archive));
    if (has_axes(data)) {
        BELAY_TRY(kept, record::attach_kept(archive, kKept, facts_of(data)));
        if (kept) return {};
        BELAY_CHECK(read_plots(archive, data));
    }
    BELAY_CHECK(archive.add(schema::kPlotSeries, series_rows(data)));
    return archive.add(schema::kPlotSummary, summary_rows(data));
}

}  // namespace belay::report
