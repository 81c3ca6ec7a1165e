#include "score/digest_tables.h"

#include "score/job_score.h"

#include <algorithm>
#include <cmath>

namespace belay::score {

namespace {

using record::Batch;
using record::Cadence;
using record::Column;
using record::ColumnType;
using record::Table;

constexpr Column kWhen = {"time", ColumnType::kTimestamp, "", "start of the span"};
constexpr Column kNode = {"node", ColumnType::kText, "", "name of the node"};
constexpr Column kDevice = {"device", ColumnType::kText, "", "UUID of the GPU"};

void add_quantities(std::vector<Column>& columns) {
    for (size_t i = 0; i < kQuantities; ++i) {
        const QuantityFacts& quantity = facts(static_cast<Quantity>(i));
        columns.push_back({quantity.name, ColumnType::kReal, quantity.unit, quantity.doc});
    }
}

constexpr Column kSummary[] = {
    {"index", ColumnType::kInteger, "", "number on the node"},
    {"name", ColumnType::kText, "", "model"},
    {"weight", ColumnType::kReal, "ratio", "share of a whole GPU"},
    {"allocated_seconds", ColumnType::kReal, "s", "time for which it was held, by weight"},
    {"observed_seconds", ColumnType::kReal, "s", "time of which its saturation is known, by weight"},
    {"score", ColumnType::kReal, "", "saturation score, 0 to 100"},
    {"idle_seconds", ColumnType::kReal, "s", "observed time that was idle"},
    {"gap_seconds", ColumnType::kReal, "s", "observed time with an engine but no multiprocessor active"},
    {"unsaturated_seconds", ColumnType::kReal, "s", "observed time below every limit"},
    {"saturated_seconds", ColumnType::kReal, "s", "observed time, times the use of the highest limit"},
    {"energy_joules", ColumnType::kReal, "J", "energy that it took"},
    {"memory_peak_bytes", ColumnType::kReal, "B", "most memory in use"},
    {"memory_total_bytes", ColumnType::kReal, "B", "memory of the device"},
    {"flop_use", ColumnType::kReal, "ratio", "tensor pipe, times clock over the highest clock"},
    {"link_bound_seconds", ColumnType::kReal, "s", "time in which it waited for a link"},
    {"copy_driven_seconds", ColumnType::kReal, "s",
     "time in which copies used the memory more than kernels did"},
    {"mig_profile", ColumnType::kText, "", "of a slice under MIG"},
    {"slack_seconds", ColumnType::kReal, "s", "by which saturated_seconds may be too low"},
    {"uncounted_seconds", ColumnType::kReal, "s", "observed without counters: nothing ran"},
    {"gap_unknown_seconds", ColumnType::kReal, "s", "in which idle and gap are not told apart"},
    {"clock_unknown_seconds", ColumnType::kReal, "s", "in which the clock counted as that of the ceilings"},
    {"integer_unknown_seconds", ColumnType::kReal, "s", "in which FP32 may hold integer work"},
    {"pipes_mean", ColumnType::kReal, "ratio", "sum of the pipes as sampled, mean"},
};

// Of the time by saturation, in steps of 5 %.
constexpr std::array<std::string_view, kHistogramBins> kBins = {
    "seconds_at_00", "seconds_at_05", "seconds_at_10", "seconds_at_15", "seconds_at_20",
    "seconds_at_25", "seconds_at_30", "seconds_at_35", "seconds_at_40", "seconds_at_45",
    "seconds_at_50", "seconds_at_55", "seconds_at_60", "seconds_at_65", "seconds_at_70",
    "seconds_at_75", "seconds_at_80", "seconds_at_85", "seconds_at_90", "seconds_at_95"};

constexpr Column kJob[] = {
    {"observed_share", ColumnType::kReal, "ratio", "share of the devices that were sampled"},
    {"saturated_share", ColumnType::kReal, "ratio", "use of the highest limit, mean"},
    {"engine_share", ColumnType::kReal, "ratio", "engine active, mean"},
    {"sm_share", ColumnType::kReal, "ratio", "multiprocessors active, mean"},
    {"tensor_share", ColumnType::kReal, "ratio", "tensor pipe active, mean"},
    {"dram_share", ColumnType::kReal, "ratio", "device memory active, mean"},
    {"power_watts", ColumnType::kReal, "W", "power of all devices that were sampled"},
    {"link_bytes_per_second", ColumnType::kReal, "B/s", "over all links of those devices"},
};

std::vector<Column> summary_columns() {
    std::vector<Column> columns = {kWhen, kNode, kDevice};
    columns.insert(columns.end(), std::begin(kSummary), std::end(kSummary));
    for (std::string_view bin : kBins)
        columns.push_back({bin, ColumnType::kReal, "s", "time with a saturation from here on, in percent"});
    add_quantities(columns);
    return columns;
}

std::vector<Column> series_columns() {
    std::vector<Column> columns = {
        kWhen, kNode, kDevice, {"seconds", ColumnType::kReal, "s", "length of the span"}};
    add_quantities(columns);
    return columns;
}

std::vector<Column> job_columns() {
    std::vector<Column> columns = {kWhen, kNode};
    columns.insert(columns.end(), std::begin(kJob), std::end(kJob));
    return columns;
}

Batch summary_rows(const Digest& digest) {
    Batch rows(gpu_summary_table());
    for (const GpuDigest& gpu : digest.gpus) {
        rows.add_row(digest.start, gpu.node);
        size_t column = 2;
        auto set = [&](const auto& value) { rows.set(column++, value); };
        set(gpu.device);
        set(gpu.index);
        auto set_text = [&](const std::string& text) {
            if (!text.empty()) rows.set(column, text);
            ++column;
        };
        set_text(gpu.name);
        set(gpu.weight);
        set(gpu.totals.allocated);
        set(gpu.totals.observed);
        set(score_of_device(gpu).point);
        set(gpu.totals.shares.idle);
        set(gpu.totals.shares.gap);
        set(gpu.totals.shares.unsaturated);
        set(gpu.totals.shares.saturated);
        set(gpu.energy_joules);
        set(gpu.memory_peak_bytes);
        set(gpu.memory_total_bytes);
        set(gpu.flop_use);
        set(gpu.link_bound_seconds);
        set(gpu.copy_driven_seconds);
        set_text(gpu.mig_profile);
        set(gpu.totals.slack);
        set(gpu.uncounted_seconds);
        set(gpu.gap_unknown_seconds);
        set(gpu.clock_unknown_seconds);
        set(gpu.integer_unknown_seconds);
        set(gpu.pipes_mean);
        for (double seconds : gpu.histogram) set(seconds);
        for (double mean : gpu.means) set(mean);
    }
    return rows;
}

Batch series_rows(const Digest& digest) {
    Batch rows(gpu_series_table());
    const core::Duration bucket(std::llround(digest.bucket_seconds * 1e9));
    for (const GpuDigest& gpu : digest.gpus)
        for (size_t i = 0; i < digest.buckets; ++i) {
            auto known = [&](const std::vector<float>& series) { return !std::isnan(series[i]); };
            if (std::ranges::none_of(gpu.series, known)) continue;
            rows.add_row(digest.start + bucket * static_cast<int64_t>(i), gpu.node);
            rows.set(2, gpu.device);
            rows.set(3, digest.bucket_seconds);
            for (size_t quantity = 0; quantity < kQuantities; ++quantity)
                rows.set(kFirstQuantity + quantity, static_cast<double>(gpu.series[quantity][i]));
        }
    return rows;
}

Batch job_rows(const Digest& digest) {
    Batch rows(job_series_table());
    for (size_t i = 0; i < digest.job.size(); ++i) {
        const JobWindow& window = digest.job[i];
        if (!(window.observed > 0)) continue;
        rows.add_row(digest.start + std::chrono::seconds(i), "");
        size_t column = kFirstJobColumn;
        for (auto field : kJobFields) rows.set(column++, static_cast<double>(window.*field));
    }
    return rows;
}

}  // namespace

std::string_view histogram_column(size_t bin) {
    return kBins.at(bin);
}

const Table& gpu_summary_table() {
    static const std::vector<Column> columns = summary_columns();
    static const Table table{"gpu_summary", Cadence::kEvents, "a device over the whole job", columns};
    return table;
}

const Table& gpu_series_table() {
    static const std::vector<Column> columns = series_columns();
    static const Table table{"gpu_series", Cadence::kEvents, "a device over a span of the job", columns};
    return table;
}

const Table& job_series_table() {
    static const std::vector<Column> columns = job_columns();
    static const Table table{"job_series", Cadence::kEvents, "all devices of the job, second by second",
                             columns};
    return table;
}

std::vector<Batch> digest_tables(const Digest& digest) {
    std::vector<Batch> tables;
    tables.push_back(summary_rows(digest));
    tables.push_back(series_rows(digest));
    tables.push_back(job_rows(digest));
    return tables;
}

}  // namespace belay::score
