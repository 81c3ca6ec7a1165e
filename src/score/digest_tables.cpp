#include "score/digest_tables.h"

#include "score/job_score.h"

#include <algorithm>
#include <cmath>

namespace belay::score {

namespace {

using stream::Batch;

static_assert(std::size(schema::kSaturationBins) == kHistogramBins);
static_assert(std::size(schema::kJobSeriesColumns) == kFirstJobColumn + kJobFields.size());

Batch summary_rows(const Digest& digest) {
    Batch rows(schema::kGpuSummary);
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
        set(gpu.memory_peak_bytes());
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
        for (double value : gpu.whole) set(value);
    }
    return rows;
}

Batch series_rows(const Digest& digest) {
    Batch rows(schema::kGpuSeries);
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
    Batch rows(schema::kJobSeries);
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

std::vector<Batch> digest_tables(const Digest& digest) {
    std::vector<Batch> tables;
    tables.push_back(summary_rows(digest));
    tables.push_back(series_rows(digest));
    tables.push_back(job_rows(digest));
    return tables;
}

}  // namespace belay::score
