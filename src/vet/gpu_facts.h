// What checks read of GPUs, as values, and the pure functions that judge them. Each judges every GPU: the
// outcome is that of the worst one and names it. A GPU that is lost fails; a value that the driver does not
// tell is unsupported, and no GPU at all is too.
#pragma once

#include "gpu/source.h"
#include "vet/catalogue.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace belay::vet {

struct GpuState {
    gpu::Device device;
    gpu::Reading reading;
    gpu::Facts facts = {};
};
using GpuStates = std::span<const GpuState>;

// Whole GPUs, also under MIG. `missing` ones (gpu_bus.h) fail without an expected number too.
Outcome judge_gpu_count(GpuStates gpus, std::optional<int64_t> expected,
                        const std::vector<std::string>& missing = {});
Outcome judge_gpu_temperature(GpuStates gpus, std::optional<double> max);
// As above, but `max` itself is too much (vetnode's GPUEval).
Outcome judge_gpu_below(GpuStates gpus, double max);
// Degrees until the clocks are lowered: more than `min`.
Outcome judge_gpu_margin(GpuStates gpus, double min);
Outcome judge_gpu_memory(GpuStates gpus, std::optional<double> max_share, std::optional<int64_t> max_mib);
Outcome judge_gpu_processes(GpuStates gpus);
// Application clocks in MHz at least, and nothing that lowers them.
Outcome judge_gpu_clocks(GpuStates gpus, std::optional<int64_t> sm, std::optional<int64_t> memory);
Outcome judge_gpu_ecc(GpuStates gpus, std::optional<int64_t> uncorrected, std::optional<int64_t> corrected);
Outcome judge_gpu_remap(GpuStates gpus, std::optional<int64_t> pending, std::optional<int64_t> failed,
                        std::optional<int64_t> pages);
Outcome judge_gpu_recovery(GpuStates gpus);
Outcome judge_gpu_links(GpuStates gpus, int64_t down);
// All lanes; the full generation only of a GPU that works, as an idle one may lower it.
Outcome judge_gpu_pcie(GpuStates gpus);

// "hardware slowdown, heat"; empty if the clocks are not lowered. The power cap and idleness are no fault.
std::string slowdown_reasons(double clock_event_reasons);
// Times that the clocks were lowered in a series of looks; the first counts if they were already.
int count_slowdowns(std::span<const double> clock_event_reasons);
// `looks` are the same GPUs one time after the other. Fails for a slowdown or, with one, above `rate`, and
// for who is slow at the end. A window too short for the rate is an error (docs/decisions/0008).
Outcome judge_gpu_slowdowns(std::span<const std::vector<GpuState>> looks, double window_seconds,
                            std::optional<double> rate);

}  // namespace belay::vet
