// What the samples of GPUs come to, as tables that a sealed record keeps beside its own: made by score/,
// asked by the rules of findings/ (docs/formats/digest.md).
#pragma once

#include "record/schema.h"

#include <array>

namespace belay::record {

template <size_t... Sizes>
consteval auto joined(const Column (&... parts)[Sizes]) {
    std::array<Column, (Sizes + ...)> all{};
    size_t at = 0;
    auto add = [&](const Column* part, size_t size) {
        for (size_t i = 0; i < size; ++i) all[at++] = part[i];
    };
    (add(parts, Sizes), ...);
    return all;
}

// In the order of score::Quantity.
inline constexpr Column kGpuQuantities[] = {
    {"idle_share", ColumnType::kReal, "ratio", "time without an active engine"},
    {"gap_share", ColumnType::kReal, "ratio",
     "time with an engine active, without a warp on a multiprocessor"},
    {"unsaturated_share", ColumnType::kReal, "ratio", "time with warps, below every limit"},
    {"saturated_share", ColumnType::kReal, "ratio", "use of the highest limit"},
    {"used_tensor_share", ColumnType::kReal, "ratio", "use of the tensor pipe, of its ceiling"},
    {"used_fp64_share", ColumnType::kReal, "ratio", "use of the FP64 pipe, of its ceiling"},
    {"used_fp32_share", ColumnType::kReal, "ratio", "use of the FP32 pipe, of its ceiling"},
    {"used_fp16_share", ColumnType::kReal, "ratio", "use of the FP16 pipe, of its ceiling"},
    {"used_dram_share", ColumnType::kReal, "ratio", "use of the device memory's bandwidth, of its ceiling"},
    {"engine_share", ColumnType::kReal, "ratio", "engine active, as sampled"},
    {"sm_share", ColumnType::kReal, "ratio", "multiprocessors active, as sampled"},
    {"occupancy_share", ColumnType::kReal, "ratio", "warps of those that would fit"},
    {"tensor_share", ColumnType::kReal, "ratio", "tensor pipe active, as sampled"},
    {"dram_share", ColumnType::kReal, "ratio", "device memory active, as sampled"},
    {"utilization_share", ColumnType::kReal, "ratio", "time in which any kernel was there"},
    {"clock_hertz", ColumnType::kReal, "Hz", "clock of the multiprocessors"},
    {"power_watts", ColumnType::kReal, "W", "power of the board"},
    {"temperature_celsius", ColumnType::kReal, "°C", "highest temperature"},
    {"memory_used_bytes", ColumnType::kReal, "B", "highest use of device memory"},
    {"pcie_bytes_per_second", ColumnType::kReal, "B/s", "over PCIe, both directions"},
    {"nvlink_bytes_per_second", ColumnType::kReal, "B/s", "over NVLink, both directions"},
    {"c2c_bytes_per_second", ColumnType::kReal, "B/s", "over the link to the CPU, both directions"},
    {"link_share", ColumnType::kReal, "ratio", "use of the busiest link, of its bandwidth"},
    {"power_capped_share", ColumnType::kReal, "ratio", "time in which the power limit held the clock down"},
    {"thermal_share", ColumnType::kReal, "ratio", "time in which heat held the clock down"},
    {"slowdown_share", ColumnType::kReal, "ratio",
     "time in which the hardware's slowdown or power brake was on"},
};

inline constexpr std::string_view kTimeAtSaturation = "time with a saturation from here on, in percent";
inline constexpr Column kSaturationBins[] = {
    {"seconds_at_00", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_05", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_10", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_15", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_20", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_25", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_30", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_35", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_40", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_45", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_50", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_55", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_60", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_65", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_70", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_75", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_80", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_85", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_90", ColumnType::kReal, "s", kTimeAtSaturation},
    {"seconds_at_95", ColumnType::kReal, "s", kTimeAtSaturation},
};

inline constexpr Column kGpuSummaryColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "UUID of the GPU"},
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
inline constexpr auto kAllGpuSummaryColumns = joined(kGpuSummaryColumns, kSaturationBins, kGpuQuantities);
inline constexpr Table kGpuSummary{"gpu_summary", Cadence::kEvents, "a device over the whole job",
                                   kAllGpuSummaryColumns};

inline constexpr Column kGpuSeriesColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "UUID of the GPU"},
    {"seconds", ColumnType::kReal, "s", "length of the span"},
};
inline constexpr auto kAllGpuSeriesColumns = joined(kGpuSeriesColumns, kGpuQuantities);
inline constexpr Table kGpuSeries{"gpu_series", Cadence::kEvents, "a device over a span of the job",
                                  kAllGpuSeriesColumns};

inline constexpr Column kJobSeriesColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"observed_share", ColumnType::kReal, "ratio", "share of the devices that were sampled"},
    {"saturated_share", ColumnType::kReal, "ratio", "use of the highest limit, mean"},
    {"engine_share", ColumnType::kReal, "ratio", "engine active, mean"},
    {"sm_share", ColumnType::kReal, "ratio", "multiprocessors active, mean"},
    {"tensor_share", ColumnType::kReal, "ratio", "tensor pipe active, mean"},
    {"dram_share", ColumnType::kReal, "ratio", "device memory active, mean"},
    {"power_watts", ColumnType::kReal, "W", "power of all devices that were sampled"},
    {"link_bytes_per_second", ColumnType::kReal, "B/s", "over all links of those devices"},
};
inline constexpr Table kJobSeries{"job_series", Cadence::kEvents, "all devices of the job, second by second",
                                  kJobSeriesColumns};

}  // namespace belay::record
