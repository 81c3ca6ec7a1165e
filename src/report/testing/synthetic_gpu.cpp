#include "report/testing/synthetic_gpu.h"

#include "report/findings.h"
#include "report/gpu_report.h"
#include "report/testing/synthetic.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace belay::report {

namespace {

using score::Digest;
using score::GpuDigest;

// Where the GPUs with a story stand.
struct Cast {
    size_t hot, idle, lost;
    explicit Cast(size_t gpus)
        : hot(gpus >= 4 ? gpus / 3 : gpus),
          idle(gpus >= 8 ? gpus - 3 : gpus),
          lost(gpus >= 8 ? gpus / 2 : gpus) {}
};

struct Moment {
    size_t gpu;
    size_t bucket;
    double progress;  // 0 to 1 of the job
    Cast cast;
    double random(uint64_t seed) const { return noise(seed, gpu * 100'003 + bucket); }
};

constexpr double kStartupShare = 0.05;
constexpr double kHotFrom = 0.55;
constexpr double kLostFrom = 0.7;

// How busy the training is: nothing in start-up, little in a checkpoint, less after the data grew cold.
double effort(const Moment& m) {
    if (m.progress < kStartupShare) return 0.04 * m.random(1);
    if (m.gpu == m.cast.idle) return 0.01;
    double cycle = std::fmod((m.progress - kStartupShare) * 12, 1.0);
    if (cycle > 0.94) return 0.12;  // a checkpoint
    double starved = m.progress > 0.3 && m.progress < 0.4 ? 0.55 : 1.0;
    return starved * (0.93 + 0.07 * m.random(2));
}

using Values = std::array<double, score::kQuantities>;

Values values_at(const Moment& m) {
    bool hot = m.gpu == m.cast.hot && m.progress > kHotFrom;
    double load = effort(m) * (hot ? 0.72 : 1.0);
    Values v;
    v.fill(kMissing);
    auto set = [&](size_t quantity, double value) { v[quantity] = value; };
    double tensor = 0.66 * load * (0.95 + 0.1 * m.random(3));
    double dram = 0.44 * load * (0.9 + 0.2 * m.random(4));
    double used = std::min(1.0, std::max(tensor, dram / 0.8));
    double sm = std::max(used, 0.86 * load);
    double engine = std::max(sm, std::min(1.0, 0.02 + load * 0.97));
    set(score::kSaturated, used);
    set(score::kUnsaturated, sm - used);
    set(score::kGap, engine - sm);
    set(score::kIdle, 1 - engine);
    set(score::used(score::Limit::kTensor), tensor);
    set(score::used(score::Limit::kFp64), 0);
    set(score::used(score::Limit::kFp32), 0.17 * load);
    set(score::used(score::Limit::kFp16), 0.05 * load);
    set(score::used(score::Limit::kDram), std::min(1.0, dram / 0.8));
    set(schema::gpu_quantity("engine_share"), engine);
    set(schema::gpu_quantity("sm_share"), sm);
    set(schema::gpu_quantity("occupancy_share"), 0.38 * load);
    set(schema::gpu_quantity("tensor_share"), tensor);
    set(schema::gpu_quantity("dram_share"), dram);
    set(schema::gpu_quantity("utilization_share"), std::min(1.0, engine * 1.02));
    set(schema::gpu_quantity("clock_hertz"), hot ? 1.29e9 + 4e7 * m.random(5) : 1.98e9 - 9e7 * load);
    set(schema::gpu_quantity("power_watts"), 105 + 520 * load * (hot ? 0.8 : 1) + 12 * m.random(6));
    set(schema::gpu_quantity("temperature_celsius"), 33 + 29 * load + (hot ? 26 : 0) + 2 * noise(7, m.gpu));
    set(schema::gpu_quantity("memory_used_bytes"),
        m.progress < kStartupShare / 2 ? 6e8 : 61.5e9 + 1e9 * noise(8, m.gpu));
    set(schema::gpu_quantity("pcie_bytes_per_second"), 2.1e9 * load + 1e7);
    set(schema::gpu_quantity("link_share"), 0.13 * load);
    set(schema::gpu_quantity("nvlink_bytes_per_second"), 118e9 * load * (0.85 + 0.3 * m.random(9)));
    set(schema::gpu_quantity("power_capped_share"), 0);
    set(schema::gpu_quantity("thermal_share"), hot ? 0.9 : 0);
    set(schema::gpu_quantity("slowdown_share"), 0);
    return v;
}

score::DeviceCeilings ceilings() {
    return score::find_ceilings(score::builtin_ceilings(), "NVIDIA GH200 120GB");
}

GpuDigest make_gpu(const Digest& digest, const Measurements& data, size_t gpu, size_t per_node,
                   size_t count) {
    GpuDigest one;
    one.node = data.nodes[gpu / per_node].name;
    one.index = static_cast<int64_t>(gpu % per_node);
    one.device = fmt::format("GPU-{:08x}-0000-4000-8000-{:012x}", 0x5eed0000 + gpu, gpu);
    one.name = "NVIDIA GH200 120GB";
    one.ceilings = ceilings();
    double memory_peak_bytes = 0;
    for (auto& series : one.series) series.assign(digest.buckets, std::nanf(""));
    one.totals.allocate(1, core::to_seconds(digest.end - digest.start));
    Values sums{};
    double seconds = 0;
    for (size_t bucket = 0; bucket < digest.buckets; ++bucket) {
        Moment m{gpu, bucket, (static_cast<double>(bucket) + 0.5) / static_cast<double>(digest.buckets),
                 Cast(count)};
        if ((gpu == m.cast.lost && m.progress > kLostFrom) || noise(11, gpu * 7919 + bucket / 9) > 0.998)
            continue;
        Values v = values_at(m);
        seconds += digest.bucket_seconds;
        for (size_t q = 0; q < score::kQuantities; ++q) {
            one.series[q][bucket] = static_cast<float>(v[q]);
            sums[q] += v[q] * digest.bucket_seconds;
        }
        memory_peak_bytes = std::max(memory_peak_bytes, v[score::kMemoryUsed]);
        double saturated = v[score::kSaturated];
        auto bin = std::min<size_t>(score::kHistogramBins - 1,
                                    static_cast<size_t>(saturated * score::kHistogramBins));
        one.histogram[bin] += digest.bucket_seconds;
    }
    for (size_t q = 0; q < score::kQuantities; ++q) one.whole[q] = sums[q] / seconds;
    one.whole[score::kMemoryUsed] = memory_peak_bytes;
    auto share = [&](size_t quantity) { return sums[quantity]; };
    one.totals.observed = seconds;
    one.totals.shares = {.idle = share(score::kIdle),
                         .gap = share(score::kGap),
                         .unsaturated = share(score::kUnsaturated),
                         .saturated = share(score::kSaturated)};
    one.pipes_mean = one.whole[schema::gpu_quantity("tensor_share")] + 0.14;
    one.energy_joules = share(schema::gpu_quantity("power_watts"));
    one.flop_use = one.whole[schema::gpu_quantity("tensor_share")] * 0.95;
    return one;
}

// The job second by second, out of the buckets.
void add_seconds(Digest& digest) {
    auto seconds = static_cast<size_t>(core::to_seconds(digest.end - digest.start));
    for (size_t second = 0; second < seconds; ++second) {
        auto bucket = std::min(digest.buckets - 1,
                               static_cast<size_t>(static_cast<double>(second) / digest.bucket_seconds));
        score::JobWindow window;
        auto mean = [&](size_t quantity) {
            double sum = 0;
            size_t count = 0;
            for (const GpuDigest& gpu : digest.gpus) {
                auto value = static_cast<double>(gpu.series[quantity][bucket]);
                if (is_missing(value)) continue;
                sum += value;
                ++count;
            }
            window.observed = static_cast<float>(count) / static_cast<float>(digest.gpus.size());
            return static_cast<float>(count > 0 ? sum / static_cast<double>(count) : kMissing);
        };
        // Of a day, one second of each bucket is made and repeated.
        bool repeated = second > 0 && bucket == static_cast<size_t>(static_cast<double>(second - 1) /
                                                                    digest.bucket_seconds);
        if (repeated) {
            digest.job.push_back(digest.job.back());
            continue;
        }
        window.saturated = mean(score::kSaturated);
        window.engine = mean(schema::gpu_quantity("engine_share"));
        window.sm = mean(schema::gpu_quantity("sm_share"));
        window.tensor = mean(schema::gpu_quantity("tensor_share"));
        window.dram = mean(schema::gpu_quantity("dram_share"));
        window.power_watts = mean(schema::gpu_quantity("power_watts"));
        window.link_bytes_per_second = mean(schema::gpu_quantity("nvlink_bytes_per_second"));
        digest.job.push_back(window);
    }
}

}  // namespace

Digest synthetic_digest(const Measurements& data, size_t per_node) {
    Digest digest;
    digest.start = data.start;
    digest.end = data.start + core::Duration(static_cast<int64_t>(data.seconds * 1e9));
    digest.buckets = std::min(score::kMostBuckets, static_cast<size_t>(data.seconds));
    digest.bucket_seconds = data.seconds / static_cast<double>(digest.buckets);
    size_t count = data.nodes.size() * per_node;
    for (size_t gpu = 0; gpu < count; ++gpu)
        digest.gpus.push_back(make_gpu(digest, data, gpu, per_node, count));
    add_seconds(digest);
    if (count >= 8)
        digest.notes.push_back(fmt::format("{} was not sampled in the last 30 % of the job",
                                           gpu_label(digest.gpus[Cast(count).lost])));
    return digest;
}

findings::Report synthetic_findings(const Measurements& data, core::Time start) {
    auto at = [&](double part) {
        return start +
               std::chrono::duration_cast<core::Duration>(std::chrono::duration<double>(part * data.seconds));
    };
    const std::string& node = data.nodes[data.nodes.size() / 3].name;
    return {
        .evaluated = {"data_stall", "gpu_idle", "gpu_thermal", "gpu_power_cap", "checkpoint_stall",
                      "straggler"},
        .skipped = {{"mig_imbalance", "no GPU is divided"},
                    {"client_metadata", "no table filesystem", "rows in filesystem"}},
        .findings = {
            {.id = "gpu_thermal",
             .severity = findings::Severity::kCritical,
             .title = "A GPU ran slower because it was too hot",
             .start = at(kHotFrom),
             .end = at(1),
             .nodes = {node},
             .devices = {"GPU-5eed0005-0000-4000-8000-000000000005"},
             .is_sure = true,
             .evidence = {{"temperature", 87.0, "°C"},
                          {"clock", 1.31e9, "Hz"},
                          {"clock of its peers", 1.89e9, "Hz"}},
             .advice = "Ask the operators to look at the node's cooling, and leave it out (--exclude) until "
                       "then: every synchronous step waits for the slowest GPU.",
             .references = {"NVIDIA System Management Interface, clocks event reasons"},
             .shown_in = {"temperature_celsius", "clock_hertz", "saturated_share"}},
            {.id = "data_stall",
             .severity = findings::Severity::kWarning,
             .title = "The GPUs waited for data",
             .start = at(0.3),
             .end = at(0.4),
             .nodes = {data.nodes.front().name},
             .devices = {},
             .is_sure = false,
             .evidence = {{"SM active", 0.47, "ratio"},
                          {"SM active before", 0.85, "ratio"},
                          {"read", 2.1e9, "B/s"}},
             .advice = "Give the data loader more workers or a larger prefetch, or stage the files to the "
                       "nodes before the job.",
             .references = {},
             .shown_in = {"sm_share", "job_read_bytes_per_second"}}}};
}

ReportModel synthetic_gpu_job(size_t nodes, size_t per_node, double seconds) {
    Measurements data = synthetic_large(nodes, seconds);
    data.job.name = "llm-pretrain";
    data.job.command = "srun python train.py --config llm.yaml --resume latest";
    ReportModel model = assemble(data);
    add_gpus(model, synthetic_digest(data, per_node));
    add_findings(model, synthetic_findings(data, model.start));
    return model;
}

}  // namespace belay::report
