// Compute, memory and network of a job's GPUs over time.
#include "report/gpu_report.h"
#include "report/gpu_series.h"

#include <algorithm>
#include <array>

namespace belay::report {

using score::Digest;
using score::GpuDigest;

namespace {

// Of the busiest link, in B/s.
double link_traffic(const GpuDigest& gpu, size_t bucket) {
    static constexpr std::array<size_t, score::kLinks> kLinks = {
        schema::gpu_quantity("pcie_bytes_per_second"), schema::gpu_quantity("nvlink_bytes_per_second"),
        schema::gpu_quantity("c2c_bytes_per_second")};
    double most = kMissing;
    for (size_t link : kLinks) {
        double value = value_at(gpu, link, bucket);
        if (!is_missing(value) && !(most >= value)) most = value;
    }
    return most;
}

// The most used of the pipes in a bucket.
double compute_use_at(const GpuDigest& gpu, size_t bucket) {
    static constexpr size_t kPipes[] = {score::used(score::Limit::kTensor), score::used(score::Limit::kFp64),
                                        score::used(score::Limit::kFp32), score::used(score::Limit::kFp16)};
    double most = kMissing;
    for (size_t pipe : kPipes)
        if (double value = value_at(gpu, pipe, bucket); !is_missing(value) && !(most >= value)) most = value;
    return most;
}

double weighted_mean_of_job(const Digest& digest, size_t quantity) {
    double sum = 0;
    double weight = 0;
    for (const GpuDigest& gpu : digest.gpus) {
        if (is_missing(gpu.whole[quantity])) continue;
        sum += gpu.weight * gpu.whole[quantity];
        weight += gpu.weight;
    }
    return weight > 0 ? sum / weight : kMissing;
}

}  // namespace

double compute_use(const Digest& digest, const GpuDigest& gpu) {
    double sum = 0;
    size_t count = 0;
    for (size_t bucket = 0; bucket < digest.buckets; ++bucket) {
        const double use = compute_use_at(gpu, bucket);
        if (is_missing(use)) continue;
        sum += use;
        ++count;
    }
    return count > 0 ? sum / static_cast<double>(count) : kMissing;
}

Mix gpu_mix(const Digest& digest, double offset) {
    Mix mix{.seconds = bucket_centres(digest, offset), .compute = {}, .memory = {}, .network = {}};
    mix.compute = weighted_mean(digest, compute_use_at);
    mix.memory = weighted_mean(digest, score::used(score::Limit::kDram));
    bool peaks_known = std::ranges::all_of(digest.gpus, [](const GpuDigest& gpu) {
        return std::ranges::any_of(gpu.ceilings.links, [](double peak) { return peak > 0; });
    });
    mix.network = peaks_known ? weighted_mean(digest, schema::gpu_quantity("link_share"))
                              : weighted_mean(digest, link_traffic);
    mix.network_note = "Network: the busiest link of its bandwidth";
    mix.network_is_share = peaks_known;
    if (peaks_known) {
        mix.network_mean = weighted_mean_of_job(digest, schema::gpu_quantity("link_share"));
        return mix;
    }
    double highest = 0;
    for (double value : mix.network)
        if (!is_missing(value)) highest = std::max(highest, value);
    for (double& value : mix.network) value = highest > 0 ? value / highest : value;
    mix.network_note =
        "Network: traffic of the busiest link relative to its highest, since no bandwidth is known";
    return mix;
}

}  // namespace belay::report
