// What one sample of a GPU costs on its way into a digest.
#include "score/gpu_digester.h"

#include <benchmark/benchmark.h>

namespace belay::score {

namespace {

std::vector<GpuSample> samples() {
    std::vector<GpuSample> made;
    for (int i = 0; i < 4096; ++i) {
        GpuSample sample;
        const double noise = (i * 7919 % 1000) / 1000.0;
        sample.activity.active = {0.4 + 0.1 * noise, 0, 0.1 * noise, 0.02, 0.3 + 0.1 * noise};
        sample.activity.integer = 0.02;
        sample.activity.engine = 0.9;
        sample.activity.sm = 0.8;
        sample.activity.clock_hertz = 1.7e9;
        sample.occupancy = noise;
        sample.utilization = 1;
        sample.power_watts = 600 + noise;
        sample.temperature_celsius = 60;
        sample.memory_used_bytes = 6e10;
        sample.memory_total_bytes = 8e10;
        sample.energy_joules_total = 600.0 * i;
        sample.clock_event_reasons = 4;
        sample.processes = 1;
        sample.links = {1e6, noise * 1e11, std::numeric_limits<double>::quiet_NaN()};
        made.push_back(sample);
    }
    return made;
}

void digest_samples(benchmark::State& state) {
    const auto made = samples();
    const core::Time start = core::time_from_nanoseconds(1'700'000'000'000'000'000);
    const core::Time end = start + std::chrono::hours(24);
    const Frame frame = make_frame(start, end, std::chrono::seconds(1));
    for (auto _ : state) {
        state.PauseTiming();
        GpuDigest gpu;
        gpu.ceilings = find_ceilings(builtin_ceilings(), "NVIDIA H100 80GB HBM3");
        JobSums job;
        job.seconds.resize(86400);
        GpuDigester digester(gpu, job, frame, {{start, end}});
        state.ResumeTiming();
        for (size_t i = 0; i < 86400; ++i)
            digester.add(start + std::chrono::seconds(i + 1), made[i % made.size()]);
        digester.finish();
        benchmark::DoNotOptimize(gpu.totals.shares.saturated);
    }
    state.SetItemsProcessed(state.iterations() * 86400);
}
BENCHMARK(digest_samples);

}  // namespace

}  // namespace belay::score
