#pragma once

#include "record/schema.h"

namespace belay::record {

// The names after `device` are those of gpu::kFields, which observe/ checks when it is compiled.
inline constexpr Column kGpuColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was sampled"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "UUID of the GPU, or of its slice under MIG"},
    {"engine_active_ratio", ColumnType::kReal, "ratio", "graphics or compute engine active, mean"},
    {"sm_active_ratio", ColumnType::kReal, "ratio", "a warp on a multiprocessor, mean over multiprocessors"},
    {"sm_occupancy_ratio", ColumnType::kReal, "ratio", "warps of those that would fit, mean"},
    {"tensor_active_ratio", ColumnType::kReal, "ratio", "tensor pipe active, mean"},
    {"fp64_active_ratio", ColumnType::kReal, "ratio", "FP64 pipe active, mean"},
    {"fp32_active_ratio", ColumnType::kReal, "ratio", "FP32 pipe active, mean; may count integer work"},
    {"fp16_active_ratio", ColumnType::kReal, "ratio", "FP16 pipe active, mean"},
    {"integer_active_ratio", ColumnType::kReal, "ratio", "integer pipe active, mean"},
    {"dram_active_ratio", ColumnType::kReal, "ratio", "device memory sending or receiving, mean"},
    {"utilization_ratio", ColumnType::kReal, "ratio",
     "time in which any kernel was there, as nvidia-smi shows it"},
    {"memory_used_bytes", ColumnType::kInteger, "B", "device memory in use"},
    {"memory_total_bytes", ColumnType::kInteger, "B", "device memory"},
    {"clock_sm_hertz", ColumnType::kReal, "Hz", "clock of the multiprocessors"},
    {"clock_memory_hertz", ColumnType::kReal, "Hz", "clock of the device memory"},
    {"temperature_celsius", ColumnType::kReal, "°C", "of the GPU"},
    {"memory_temperature_celsius", ColumnType::kReal, "°C", "of the device memory"},
    {"power_watts", ColumnType::kReal, "W",
     "board power; the sensor of A100 and H100 sees a quarter of the time"},
    {"energy_joules_total", ColumnType::kReal, "J", "since the driver was loaded"},
    {"clock_event_reasons", ColumnType::kInteger, "",
     "why the clock is lower, bits of NVML: 4 power cap, 8 and 128 hardware, 32 and 64 heat"},
    {"pcie_sent_bytes_per_second", ColumnType::kReal, "B/s", "over PCIe from the GPU, mean"},
    {"pcie_received_bytes_per_second", ColumnType::kReal, "B/s", "over PCIe to the GPU, mean"},
    {"nvlink_sent_bytes_per_second", ColumnType::kReal, "B/s", "over all NVLinks from the GPU, mean"},
    {"nvlink_received_bytes_per_second", ColumnType::kReal, "B/s", "over all NVLinks to the GPU, mean"},
    {"c2c_sent_bytes_per_second", ColumnType::kReal, "B/s", "over the link to the CPU (GH200), mean"},
    {"c2c_received_bytes_per_second", ColumnType::kReal, "B/s", "over the link from the CPU (GH200), mean"},
    {"ecc_corrected_total", ColumnType::kInteger, "", "memory errors corrected since the driver was loaded"},
    {"ecc_uncorrected_total", ColumnType::kInteger, "",
     "memory errors not corrected since the driver was loaded"},
    {"remapped_rows_total", ColumnType::kInteger, "",
     "rows of memory replaced by spare ones, in the GPU's life"},
    {"remap_pending", ColumnType::kInteger, "", "1 if rows wait for a reset to be replaced"},
    {"remap_failed", ColumnType::kInteger, "", "1 if a row could not be replaced"},
    {"pcie_replays_total", ColumnType::kInteger, "", "packets sent again over PCIe"},
    {"pcie_generation", ColumnType::kInteger, "", "of the link now; lower while idle"},
    {"pcie_width", ColumnType::kInteger, "", "lanes of the link now"},
    {"processes", ColumnType::kInteger, "", "processes with a compute context"},
    {"tensor_half_active_ratio", ColumnType::kReal, "ratio",
     "tensor pipe active in half precision (HMMA), mean"},
    {"tensor_integer_active_ratio", ColumnType::kReal, "ratio",
     "tensor pipe active on integers (IMMA), mean"},
    {"tensor_double_active_ratio", ColumnType::kReal, "ratio",
     "tensor pipe active in double precision (DFMA), mean"},
    {"power_violation_seconds_total", ColumnType::kReal, "s",
     "time in which the power limit lowered the clocks, since the driver was loaded"},
    {"thermal_violation_seconds_total", ColumnType::kReal, "s",
     "time in which heat lowered the clocks, since the driver was loaded"},
    {"nvlink_errors_total", ColumnType::kInteger, "",
     "replays, recoveries and checksum errors of all NVLinks"},
};

inline constexpr Table kGpu{"gpu", Cadence::kPeriodic,
                            "the GPUs of a node: means over the time since the row before, and states",
                            kGpuColumns};

}  // namespace belay::record
