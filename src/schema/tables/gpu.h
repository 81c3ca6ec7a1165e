#pragma once

#include "schema/schema.h"

#include <limits>

namespace belay::schema {

using enum ColumnType;

// What is measured on a GPU: from here follow the readings of all sources, the trace format, the columns of
// the table, and what is kept and plotted of them. "Mean" is over the time since the reading before.
inline constexpr Quantity kGpuFields[] = {
    {"engine_active_ratio",
     kReal,
     "ratio",
     "graphics or compute engine active, mean",
     {"engine_share", "ratio", "engine active, as sampled", Fold::kMean}},
    {"sm_active_ratio",
     kReal,
     "ratio",
     "a warp on a multiprocessor, mean over multiprocessors",
     {"sm_share",
      "ratio",
      "multiprocessors active, as sampled",
      Fold::kMean,
      {"SM active", "gpus", "A warp was on a multiprocessor", 20}}},
    {"sm_occupancy_ratio",
     kReal,
     "ratio",
     "warps of those that would fit, mean",
     {"occupancy_share",
      "ratio",
      "warps of those that would fit",
      Fold::kMean,
      {"SM occupancy", "gpus", "Warps of those that fit", 30}}},
    {"tensor_active_ratio",
     kReal,
     "ratio",
     "tensor pipe active, mean",
     {"tensor_share",
      "ratio",
      "tensor pipe active, as sampled",
      Fold::kMean,
      {"Tensor active", "gpus", "Tensor pipe", 50}}},
    {"fp64_active_ratio", kReal, "ratio", "FP64 pipe active, mean"},
    {"fp32_active_ratio", kReal, "ratio", "FP32 pipe active, mean; may count integer work"},
    {"fp16_active_ratio", kReal, "ratio", "FP16 pipe active, mean"},
    {"integer_active_ratio", kReal, "ratio", "integer pipe active, mean"},
    {"dram_active_ratio",
     kReal,
     "ratio",
     "device memory sending or receiving, mean",
     {"dram_share",
      "ratio",
      "device memory active, as sampled",
      Fold::kMean,
      {"DRAM active", "gpus", "Memory interface, 80 % is a practical peak", 40}}},
    {"utilization_ratio",
     kReal,
     "ratio",
     "time in which any kernel was there, as nvidia-smi shows it",
     {"utilization_share",
      "ratio",
      "time in which any kernel was there",
      Fold::kMean,
      {"Utilization", "gpus", "A kernel was present", 10}}},
    {"memory_used_bytes",
     kInteger,
     "B",
     "device memory in use",
     {"memory_used_bytes",
      "B",
      "highest use of device memory",
      Fold::kHighest,
      {"GPU memory in use", "power", "Highest of each moment", 110}}},
    {"memory_total_bytes", kInteger, "B", "device memory"},
    {"clock_sm_hertz",
     kReal,
     "Hz",
     "clock of the multiprocessors",
     {"clock_hertz",
      "Hz",
      "clock of the multiprocessors",
      Fold::kMean,
      {"SM clock", "power", "Falls when power or heat hold it down", 90}}},
    {"clock_memory_hertz", kReal, "Hz", "clock of the device memory"},
    {"temperature_celsius",
     kReal,
     "°C",
     "of the GPU",
     {"temperature_celsius",
      "°C",
      "highest temperature",
      Fold::kHighest,
      {"Temperature", "power", "Highest of each moment", 100}}},
    {"memory_temperature_celsius", kReal, "°C", "of the device memory"},
    {"power_watts",
     kReal,
     "W",
     "board power; the sensor of A100 and H100 sees a quarter of the time",
     {"power_watts", "W", "power of the board", Fold::kMean, {"Power", "power", "Per GPU", 80}}},
    {"energy_joules_total", kReal, "J", "since the driver was loaded"},
    {"clock_event_reasons", kInteger, "",
     "why the clock is lower, bits of NVML: 4 power cap, 8 and 128 hardware, 32 and 64 heat"},
    {"pcie_sent_bytes_per_second", kReal, "B/s", "over PCIe from the GPU, mean"},
    {"pcie_received_bytes_per_second", kReal, "B/s", "over PCIe to the GPU, mean"},
    {"nvlink_sent_bytes_per_second", kReal, "B/s", "over all NVLinks from the GPU, mean"},
    {"nvlink_received_bytes_per_second", kReal, "B/s", "over all NVLinks to the GPU, mean"},
    {"c2c_sent_bytes_per_second", kReal, "B/s", "over the link to the CPU (GH200), mean"},
    {"c2c_received_bytes_per_second", kReal, "B/s", "over the link from the CPU (GH200), mean"},
    {"ecc_corrected_total", kInteger, "", "memory errors corrected since the driver was loaded"},
    {"ecc_uncorrected_total", kInteger, "", "memory errors not corrected since the driver was loaded"},
    {"remapped_rows_total", kInteger, "", "rows of memory replaced by spare ones, in the GPU's life"},
    {"remap_pending", kInteger, "", "1 if rows wait for a reset to be replaced"},
    {"remap_failed", kInteger, "", "1 if a row could not be replaced"},
    {"pcie_replays_total", kInteger, "", "packets sent again over PCIe"},
    {"pcie_generation", kInteger, "", "of the link now; lower while idle"},
    {"pcie_width", kInteger, "", "lanes of the link now"},
    {"processes", kInteger, "", "processes with a compute context"},
    {"tensor_half_active_ratio", kReal, "ratio", "tensor pipe active in half precision (HMMA), mean"},
    {"tensor_integer_active_ratio", kReal, "ratio", "tensor pipe active on integers (IMMA), mean"},
    {"tensor_double_active_ratio", kReal, "ratio", "tensor pipe active in double precision (DFMA), mean"},
    {"power_violation_seconds_total", kReal, "s",
     "time in which the power limit lowered the clocks, since the driver was loaded"},
    {"thermal_violation_seconds_total", kReal, "s",
     "time in which heat lowered the clocks, since the driver was loaded"},
    {"nvlink_errors_total", kInteger, "", "replays, recoveries and checksum errors of all NVLinks"},
    {"jpeg_active_ratio",
     kReal,
     "ratio",
     "first JPEG decoder active, mean",
     {"jpeg_share",
      "ratio",
      "first JPEG decoder active",
      Fold::kMean,
      {"JPEG decoder", "power", "Where images are decoded on the GPU", 140}}},
};
inline constexpr size_t kGpuFieldCount = std::size(kGpuFields);

// The index of a field, at compile time; an unknown name does not compile.
consteval size_t gpu_field(std::string_view name) {
    for (size_t i = 0; i < kGpuFieldCount; ++i)
        if (kGpuFields[i].name == name) return i;
    throw "there is no such field";
}

// One value for each field, by its index; NaN where it is missing. Whole numbers below 2^53 are exact.
struct GpuValues {
    GpuValues() { values.fill(std::numeric_limits<double>::quiet_NaN()); }
    double& operator[](size_t field) { return values[field]; }
    double operator[](size_t field) const { return values[field]; }
    std::array<double, kGpuFieldCount> values;
};

inline constexpr Column kGpuKeys[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "UUID of the GPU, or of its slice under MIG"},
};
inline constexpr size_t kFirstGpuField = std::size(kGpuKeys);
inline constexpr auto kGpuColumns = joined(columns_of(kGpuKeys), columns_of(kGpuFields));

inline constexpr Table kGpu{"gpu", Cadence::kPeriodic,
                            "the GPUs of a node: means over the time since the row before, and states",
                            kGpuColumns, 2};

}  // namespace belay::schema
