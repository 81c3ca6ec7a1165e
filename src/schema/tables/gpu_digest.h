// What the samples of GPUs come to, as tables that a sealed record keeps beside its own: made by score/,
// asked by the rules of findings/ (docs/formats/digest.md).
#pragma once

#include "schema/tables/gpu.h"

#include <array>

namespace belay::schema {

// How a value of gpu_series comes from the fields of a reading.
enum class GpuOrigin : uint8_t {
    kModel,   // from the score's model, in windows
    kField,   // as it is sampled
    kSum,     // of two fields; where one is missing, the other
    kAnyBit,  // 1 where any of `bits` is set in a field
    kLinks,   // from the traffic of all links and their bandwidths (score/ceilings.h)
};

struct GpuQuantity {
    SeriesColumn series;
    GpuOrigin origin = GpuOrigin::kModel;
    size_t first = 0;  // fields
    size_t second = 0;
    int64_t bits = 0;
};

inline constexpr SeriesColumn kGpuModel[] = {
    {"idle_share", "ratio", "time without an active engine"},
    {"gap_share", "ratio", "time with an engine active, without a warp on a multiprocessor"},
    {"unsaturated_share", "ratio", "time with warps, below every limit"},
    {"saturated_share", "ratio", "use of the highest limit", Fold::kMean, {"Saturation", "", "", 1}},
    {"used_tensor_share",
     "ratio",
     "use of the tensor pipe, of its ceiling",
     Fold::kMean,
     {"Tensor", "", "", 2}},
    {"used_fp64_share", "ratio", "use of the FP64 pipe, of its ceiling", Fold::kMean, {"FP64", "", "", 3}},
    {"used_fp32_share", "ratio", "use of the FP32 pipe, of its ceiling", Fold::kMean, {"FP32", "", "", 4}},
    {"used_fp16_share", "ratio", "use of the FP16 pipe, of its ceiling", Fold::kMean, {"FP16", "", "", 5}},
    {"used_dram_share",
     "ratio",
     "use of the device memory's bandwidth, of its ceiling",
     Fold::kMean,
     {"DRAM", "", "", 6}},
};

// Made of several fields, or of a part of one. The bits are those of nvml.h, nvmlClocksEventReason*.
inline constexpr GpuQuantity kGpuDerived[] = {
    {{"pcie_bytes_per_second",
      "B/s",
      "over PCIe, both directions",
      Fold::kMean,
      {"PCIe", "power", "Both directions, per GPU", 120}},
     GpuOrigin::kSum,
     gpu_field("pcie_sent_bytes_per_second"),
     gpu_field("pcie_received_bytes_per_second")},
    {{"nvlink_bytes_per_second",
      "B/s",
      "over NVLink, both directions",
      Fold::kMean,
      {"NVLink", "gpus", "Both directions", 60}},
     GpuOrigin::kSum,
     gpu_field("nvlink_sent_bytes_per_second"),
     gpu_field("nvlink_received_bytes_per_second")},
    {{"c2c_bytes_per_second",
      "B/s",
      "over the link to the CPU, both directions",
      Fold::kMean,
      {"Chip to chip", "power", "Both directions, per GPU", 130}},
     GpuOrigin::kSum,
     gpu_field("c2c_sent_bytes_per_second"),
     gpu_field("c2c_received_bytes_per_second")},
    {{"link_share", "ratio", "use of the busiest link, of its bandwidth"}, GpuOrigin::kLinks},
    {{"power_capped_share", "ratio", "time in which the power limit held the clock down"},
     GpuOrigin::kAnyBit,
     gpu_field("clock_event_reasons"),
     0,
     0x4},
    {{"thermal_share", "ratio", "time in which heat held the clock down"},
     GpuOrigin::kAnyBit,
     gpu_field("clock_event_reasons"),
     0,
     0x20 | 0x40},
    {{"slowdown_share", "ratio", "time in which the hardware's slowdown or power brake was on"},
     GpuOrigin::kAnyBit,
     gpu_field("clock_event_reasons"),
     0,
     0x8 | 0x80},
};

inline constexpr size_t kGpuModelCount = std::size(kGpuModel);
inline constexpr size_t kGpuQuantityCount =
    kGpuModelCount + count_series(kGpuFields) + std::size(kGpuDerived);

// Everything that is followed over time on a GPU: the model's, the fields that say so, and what is derived.
inline constexpr auto kGpuQuantities = [] {
    std::array<GpuQuantity, kGpuQuantityCount> all{};
    size_t at = 0;
    for (const SeriesColumn& series : kGpuModel) all[at++] = {series};
    for (size_t field = 0; field < kGpuFieldCount; ++field)
        if (!kGpuFields[field].series.name.empty())
            all[at++] = {kGpuFields[field].series, GpuOrigin::kField, field};
    for (const GpuQuantity& quantity : kGpuDerived) all[at++] = quantity;
    return all;
}();

// The index of one of them, at compile time; an unknown name does not compile.
consteval size_t gpu_quantity(std::string_view name) {
    for (size_t i = 0; i < kGpuQuantityCount; ++i)
        if (kGpuQuantities[i].series.name == name) return i;
    throw "there is no such quantity";
}

inline constexpr auto kGpuQuantityColumns = [] {
    std::array<Column, kGpuQuantityCount> columns{};
    for (size_t i = 0; i < kGpuQuantityCount; ++i) {
        const SeriesColumn& series = kGpuQuantities[i].series;
        columns[i] = {series.name, ColumnType::kReal, series.unit, series.doc};
    }
    return columns;
}();

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
    {"memory_peak_bytes", ColumnType::kReal, "B", "the same as memory_used_bytes, by its older name"},
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
inline constexpr auto kAllGpuSummaryColumns =
    joined(columns_of(kGpuSummaryColumns), columns_of(kSaturationBins), kGpuQuantityColumns);
inline constexpr Table kGpuSummary{"gpu_summary", Cadence::kEvents, "a device over the whole job",
                                   kAllGpuSummaryColumns};

inline constexpr Column kGpuSeriesColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "UUID of the GPU"},
    {"seconds", ColumnType::kReal, "s", "length of the span"},
};
inline constexpr auto kAllGpuSeriesColumns = joined(columns_of(kGpuSeriesColumns), kGpuQuantityColumns);
inline constexpr Table kGpuSeries{"gpu_series", Cadence::kEvents, "a device over a span of the job",
                                  kAllGpuSeriesColumns};

inline constexpr Column kJobSeriesColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"observed_share", ColumnType::kReal, "ratio", "share of the devices that were sampled"},
    kGpuQuantityColumns[gpu_quantity("saturated_share")],
    kGpuQuantityColumns[gpu_quantity("engine_share")],
    kGpuQuantityColumns[gpu_quantity("sm_share")],
    kGpuQuantityColumns[gpu_quantity("tensor_share")],
    kGpuQuantityColumns[gpu_quantity("dram_share")],
    {"power_watts", ColumnType::kReal, "W", "power of all devices that were sampled"},
    {"link_bytes_per_second", ColumnType::kReal, "B/s", "over all links of those devices"},
};
inline constexpr Table kJobSeries{"job_series", Cadence::kEvents,
                                  "all devices of the job, second by second; shares are means over them",
                                  kJobSeriesColumns};

}  // namespace belay::schema
