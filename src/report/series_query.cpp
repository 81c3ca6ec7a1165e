#include "report/series_query.h"

#include "record/series/allotment.h"
#include "record/series/read_spans.h"
#include "report/query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace belay::report {

using core::Result;

namespace {

using schema::kPlotSources;
using schema::ShareOf;

// What is added up over the processes, interfaces or disks of a node at one moment: by column of the source,
// and behind them the CPUs of the node, where some are shares of these.
using Sums = std::span<const double>;
using NodeIndex = std::map<std::string, size_t, std::less<>>;

double or_zero(double value) {
    return is_missing(value) ? 0 : value;
}

constexpr bool is_of_node_cpus(const schema::SampledSeries& column) {
    return column.share_of == ShareOf::kNodeCpus || column.share_of == ShareOf::kPartOfNodeCpus;
}

// The kernel counts CPU time in ticks of 10 ms: over a second the parts may add up to a little more than
// there is.
template <size_t kSource>
double node_cpus(Sums sums) {
    static constexpr std::span kColumns = kPlotSources[kSource].columns;
    double parts = 0;
    for (size_t i = 0; i < kColumns.size(); ++i)
        if (kColumns[i].share_of == ShareOf::kPartOfNodeCpus) parts += or_zero(sums[i]);
    return std::fmax(sums[kColumns.size()], parts);
}

template <size_t kSource, size_t kColumn>
double value_of(Sums sums) {
    if constexpr (is_of_node_cpus(kPlotSources[kSource].columns[kColumn]))
        return sums[kColumn] / node_cpus<kSource>(sums);
    else
        return sums[kColumn];
}

template <size_t kSource>
constexpr auto kFormulas = []<size_t... kColumns>(std::index_sequence<kColumns...>) {
    return std::array<record::SpanOutput, sizeof...(kColumns)>{record::SpanOutput{
        value_of<kSource, kColumns>, kPlotSources[kSource].columns[kColumns].series.fold}...};
}(std::make_index_sequence<kPlotSources[kSource].columns.size()>());

constexpr auto kFormulasOf = []<size_t... kSources>(std::index_sequence<kSources...>) {
    return std::array<std::span<const record::SpanOutput>, sizeof...(kSources)>{kFormulas<kSources>...};
}(std::make_index_sequence<std::size(kPlotSources)>());

std::vector<record::SpanInput> inputs_of(const schema::SeriesTable& source) {
    std::vector<record::SpanInput> inputs;
    for (const schema::SampledSeries& column : source.columns) inputs.push_back({column.sampled, column.sql});
    if (std::ranges::any_of(source.columns, is_of_node_cpus))
        inputs.push_back({schema::Sampled::kState, schema::kNodeCpus});
    return inputs;
}

static_assert(std::ranges::all_of(kPlotSources, [](const schema::SeriesTable& source) {
    return std::ranges::none_of(source.columns, [](const schema::SampledSeries& column) {
        return column.series.fold ==
               schema::Fold::kIncrease;  // it has no mean over the time that was sampled
    });
}));

// Of one node: what stood there before goes.
void take(const record::Spans& spans, schema::Fold fold, size_t node, size_t buckets, NodeValues& target) {
    double weighted = 0;
    double seconds = 0;
    double peak = kMissing;
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
        const record::Spans::Cell& cell = spans[bucket];
        target.values[node * buckets + bucket] = fold == schema::Fold::kHighest ? cell.highest : cell.mean();
        weighted += cell.weighted;
        seconds += cell.seconds;
        if (cell.seconds > 0 && !(peak >= cell.highest)) peak = cell.highest;
    }
    target.peaks[node] = peak;
    target.means[node] = seconds > 0 ? weighted / seconds : kMissing;
}

// Fills the plots from `first` on, which come from one source.
Result<> read_source(record::Archive& archive, size_t source, size_t first, const NodeIndex& node_index,
                     Measurements& data) {
    const schema::SeriesTable& rows = kPlotSources[source];
    std::vector<std::string> nodes;
    for (const auto& [name, index] : node_index) nodes.push_back(name);
    const std::vector<record::SpanInput> inputs = inputs_of(rows);
    // Nodes are told of at the same time, each its own places.
    return record::read_spans(
        archive,
        {.table = rows.source,
         .filter = rows.filter,
         .keys = rows.identity,
         .born = rows.born,
         .inputs = inputs,
         .outputs = kFormulasOf[source]},
        frame_of(data), nodes, [&](std::string_view node, std::span<const record::Spans> outputs) {
            auto found = node_index.find(node);
            if (found == node_index.end()) return;
            for (size_t i = 0; i < outputs.size(); ++i)
                take(outputs[i], rows.columns[i].series.fold, found->second, data.buckets, data[first + i]);
        });
}

// CPUs that the job may use on each node in each bucket; of all of the node's where that is not known.
Result<std::vector<double>> allotted_cpus(record::Archive& archive, const Measurements& data,
                                          const NodeIndex& node_index) {
    std::vector<double> cpus(data.nodes.size() * data.buckets, kMissing);
    BELAY_TRY(levels,
              archive.query(fmt::format(
                  "SELECT node, (epoch_us(t0) - {0}) / 1e6, (epoch_us(t1) - {0}) / 1e6, cpus FROM ({1}) "
                  "WHERE cpus > 0 ORDER BY cpus",
                  core::to_microseconds(data.start), record::kAllotmentSql)));
    for (const auto& row : levels.rows) {
        auto node = node_index.find(record::as_text(row[0]));
        if (node == node_index.end()) continue;
        const double first = std::clamp(std::floor(record::as_double(row[1]) / data.bucket_seconds), 0.0,
                                        static_cast<double>(data.buckets));
        const double last = std::clamp(std::ceil(record::as_double(row[2]) / data.bucket_seconds), 0.0,
                                       static_cast<double>(data.buckets));
        if (!(first < last)) continue;  // or one of them is not known
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
            cpus[node->second * data.buckets + i] = record::as_double(row[3]);
    }
    for (size_t node = 0; node < data.nodes.size(); ++node) {
        const NodeFacts& facts = data.nodes[node];
        const int64_t usual = facts.cpus_allotted.value_or(facts.cpus.value_or(0));
        for (size_t i = node * data.buckets; i < (node + 1) * data.buckets; ++i)
            if (is_missing(cpus[i]) && usual > 0) cpus[i] = static_cast<double>(usual);
    }
    return cpus;
}

// From CPUs in use to the share of those that the job may use. The mean is weighted with the CPUs, so that it
// is the share of what the job was given.
void divide_by_allotted(const Measurements& data, const std::vector<double>& cpus, NodeValues& job_cpu) {
    for (size_t node = 0; node < data.nodes.size(); ++node) {
        double most = kMissing;
        double sum = 0;
        size_t known = 0;
        for (size_t i = node * data.buckets; i < (node + 1) * data.buckets; ++i) {
            if (is_missing(job_cpu.values[i])) continue;
            job_cpu.values[i] /= cpus[i];
            if (!(most >= cpus[i])) most = cpus[i];
            sum += cpus[i];
            ++known;
        }
        job_cpu.means[node] *= known > 0 ? static_cast<double>(known) / sum : kMissing;
        job_cpu.peaks[node] /= most;
    }
}

}  // namespace

record::SpanFrame frame_of(const Measurements& data) {
    return {.start_microseconds = core::to_microseconds(data.start),
            .bucket_seconds = data.bucket_seconds,
            .buckets = data.buckets,
            .interval_seconds = data.interval_seconds};
}

Result<> read_plots(record::Archive& archive, Measurements& data) {
    NodeIndex node_index;
    for (size_t i = 0; i < data.nodes.size(); ++i) node_index[data.nodes[i].name] = i;
    for (NodeValues& plot : data.plots) plot = NodeValues::missing(data.nodes.size(), data.buckets);
    size_t first = 0;
    for (size_t source = 0; source < std::size(kPlotSources); ++source) {
        BELAY_CHECK(read_source(archive, source, first, node_index, data));
        first += kPlotSources[source].columns.size();
    }
    BELAY_TRY(cpus, allotted_cpus(archive, data, node_index));
    for (size_t plot = 0; plot < schema::kNodePlotCount; ++plot)
        if (schema::kNodePlots[plot].share_of == ShareOf::kJobCpus)
            divide_by_allotted(data, cpus, data[plot]);
    for (NodeValues& plot : data.plots)
        if (std::ranges::all_of(plot.means, is_missing)) plot = {};
    return {};
}

}  // namespace belay::report
