// What is measured on a GPU, as data: from here follow the readings of all sources, the trace format and the
// columns of the table `gpu` in the record.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

namespace belay::gpu {

enum class FieldType : unsigned char { kReal, kInteger };

struct Field {
    std::string_view name;  // ends in its base unit
    FieldType type;
    std::string_view unit;
    std::string_view doc;
};

// "Mean" is over the time since the reading before.
inline constexpr Field kFields[] = {
    {"engine_active_ratio", FieldType::kReal, "ratio", "graphics or compute engine active, mean"},
    {"sm_active_ratio", FieldType::kReal, "ratio", "a warp on a multiprocessor, mean over multiprocessors"},
    {"sm_occupancy_ratio", FieldType::kReal, "ratio", "warps of those that would fit, mean"},
    {"tensor_active_ratio", FieldType::kReal, "ratio", "tensor pipe active, mean"},
    {"fp64_active_ratio", FieldType::kReal, "ratio", "FP64 pipe active, mean"},
    {"fp32_active_ratio", FieldType::kReal, "ratio", "FP32 pipe active, mean; may count integer work"},
    {"fp16_active_ratio", FieldType::kReal, "ratio", "FP16 pipe active, mean"},
    {"integer_active_ratio", FieldType::kReal, "ratio", "integer pipe active, mean"},
    {"dram_active_ratio", FieldType::kReal, "ratio", "device memory sending or receiving, mean"},
    {"utilization_ratio", FieldType::kReal, "ratio",
     "time in which any kernel was there, as nvidia-smi shows it"},
    {"memory_used_bytes", FieldType::kInteger, "B", "device memory in use"},
    {"memory_total_bytes", FieldType::kInteger, "B", "device memory"},
    {"clock_sm_hertz", FieldType::kReal, "Hz", "clock of the multiprocessors"},
    {"clock_memory_hertz", FieldType::kReal, "Hz", "clock of the device memory"},
    {"temperature_celsius", FieldType::kReal, "°C", "of the GPU"},
    {"memory_temperature_celsius", FieldType::kReal, "°C", "of the device memory"},
    {"power_watts", FieldType::kReal, "W",
     "board power; the sensor of A100 and H100 sees a quarter of the time"},
    {"energy_joules_total", FieldType::kReal, "J", "since the driver was loaded"},
    {"clock_event_reasons", FieldType::kInteger, "",
     "why the clock is lower, bits of NVML: 4 power cap, 8 and 128 hardware, 32 and 64 heat"},
    {"pcie_sent_bytes_per_second", FieldType::kReal, "B/s", "over PCIe from the GPU, mean"},
    {"pcie_received_bytes_per_second", FieldType::kReal, "B/s", "over PCIe to the GPU, mean"},
    {"nvlink_sent_bytes_per_second", FieldType::kReal, "B/s", "over all NVLinks from the GPU, mean"},
    {"nvlink_received_bytes_per_second", FieldType::kReal, "B/s", "over all NVLinks to the GPU, mean"},
    {"c2c_sent_bytes_per_second", FieldType::kReal, "B/s", "over the link to the CPU (GH200), mean"},
    {"c2c_received_bytes_per_second", FieldType::kReal, "B/s", "over the link from the CPU (GH200), mean"},
    {"ecc_corrected_total", FieldType::kInteger, "", "memory errors corrected since the driver was loaded"},
    {"ecc_uncorrected_total", FieldType::kInteger, "",
     "memory errors not corrected since the driver was loaded"},
    {"remapped_rows_total", FieldType::kInteger, "",
     "rows of memory replaced by spare ones, in the GPU's life"},
    {"remap_pending", FieldType::kInteger, "", "1 if rows wait for a reset to be replaced"},
    {"remap_failed", FieldType::kInteger, "", "1 if a row could not be replaced"},
    {"pcie_replays_total", FieldType::kInteger, "", "packets sent again over PCIe"},
    {"pcie_generation", FieldType::kInteger, "", "of the link now; lower while idle"},
    {"pcie_width", FieldType::kInteger, "", "lanes of the link now"},
    {"processes", FieldType::kInteger, "", "processes with a compute context"},
    {"tensor_half_active_ratio", FieldType::kReal, "ratio",
     "tensor pipe active in half precision (HMMA), mean"},
    {"tensor_integer_active_ratio", FieldType::kReal, "ratio", "tensor pipe active on integers (IMMA), mean"},
    {"tensor_double_active_ratio", FieldType::kReal, "ratio",
     "tensor pipe active in double precision (DFMA), mean"},
    {"power_violation_seconds_total", FieldType::kReal, "s",
     "time in which the power limit lowered the clocks, since the driver was loaded"},
    {"thermal_violation_seconds_total", FieldType::kReal, "s",
     "time in which heat lowered the clocks, since the driver was loaded"},
    {"nvlink_errors_total", FieldType::kInteger, "",
     "replays, recoveries and checksum errors of all NVLinks"},
};
inline constexpr size_t kFieldCount = std::size(kFields);

// The index of a field, at compile time: a name that is none does not compile.
consteval size_t field(std::string_view name) {
    for (size_t i = 0; i < kFieldCount; ++i)
        if (kFields[i].name == name) return i;
    throw "there is no such field";
}

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// One value for each field; kMissing where the device or the source does not have it. Whole numbers below
// 2^53 are exact.
struct Reading {
    Reading() { values.fill(kMissing); }
    double& operator[](size_t index) { return values[index]; }
    double operator[](size_t index) const { return values[index]; }
    std::array<double, kFieldCount> values;
    bool lost = false;  // the device no longer answers ("fell off the bus"); nothing else is known
};

}  // namespace belay::gpu
