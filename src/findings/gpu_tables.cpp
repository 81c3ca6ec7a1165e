#include "findings/tables.h"

namespace belay::findings {

using enum record::ColumnType;

// clang-format off: one line per quantity
#define BELAY_GPU_QUANTITIES                                                                                  \
    {"idle_share", kReal, "ratio", "share of the time: no engine active"},                                    \
    {"gap_share", kReal, "ratio", "share: engine active, no warp on a multiprocessor"},                       \
    {"unsaturated_share", kReal, "ratio", "share: warps there, limits not reached"},                          \
    {"saturated_share", kReal, "ratio", "share of a hardware limit that was reached"},                        \
    {"used_tensor_share", kReal, "ratio", "use of the tensor pipe, of what kernels reach"},                   \
    {"used_fp64_share", kReal, "ratio", "use of the FP64 pipe"},                                              \
    {"used_fp32_share", kReal, "ratio", "use of the FP32 pipe"},                                              \
    {"used_fp16_share", kReal, "ratio", "use of the FP16 pipe"},                                              \
    {"used_dram_share", kReal, "ratio", "use of the memory bandwidth, of what kernels reach"},                \
    {"engine_share", kReal, "ratio", "engine active"},                                                        \
    {"sm_share", kReal, "ratio", "warps on multiprocessors"},                                                 \
    {"occupancy_share", kReal, "ratio", "warps of those that would fit"},                                     \
    {"tensor_share", kReal, "ratio", "tensor pipe active"},                                                   \
    {"dram_share", kReal, "ratio", "device memory active"},                                                   \
    {"utilization_share", kReal, "ratio", "any kernel there, as nvidia-smi shows it"},                        \
    {"clock_hertz", kReal, "Hz", "clock of the multiprocessors"},                                             \
    {"power_watts", kReal, "W", "board power"},                                                               \
    {"temperature_celsius", kReal, "°C", "highest temperature"},                                              \
    {"memory_used_bytes", kReal, "B", "most device memory in use"},                                           \
    {"pcie_bytes_per_second", kReal, "B/s", "over PCIe, both directions"},                                    \
    {"nvlink_bytes_per_second", kReal, "B/s", "over NVLink, both directions"},                                \
    {"c2c_bytes_per_second", kReal, "B/s", "over the link to the CPU, both directions"},                      \
    {"power_capped_share", kReal, "ratio", "share of the time in which the power limit held the clock down"}, \
    {"thermal_share", kReal, "ratio", "share in which heat held the clock down"},                             \
    {"slowdown_share", kReal, "ratio", "share in which the hardware held the clock down"}
// clang-format on

namespace {

constexpr record::Column kSummaryColumns[] = {
    {"time", kTimestamp, "", "start of the allocation"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "UUID of the GPU, or of its slice under MIG"},
    {"index", kInteger, "", "number by which the driver lists it on the node"},
    {"name", kText, "", "model"},
    {"weight", kReal, "ratio", "share of a whole GPU"},
    {"allocated_seconds", kReal, "s", "time for which the job held it, by weight"},
    {"observed_seconds", kReal, "s", "time for which there are samples"},
    {"score", kReal, "", "saturation score, 0 to 100"},
    {"saturated_seconds", kReal, "s", "the observed time, in four parts"},
    {"idle_seconds", kReal, "s", ""},
    {"gap_seconds", kReal, "s", ""},
    {"unsaturated_seconds", kReal, "s", ""},
    {"energy_joules", kReal, "J", "null without a counter"},
    {"memory_peak_bytes", kReal, "B", "most device memory in use"},
    {"memory_total_bytes", kReal, "B", "device memory"},
    {"flop_use", kReal, "ratio", "tensor pipe active times clock over highest clock"},
    {"link_bound_seconds", kReal, "s", "time in which it waited for a link"},
    BELAY_GPU_QUANTITIES,
};

constexpr record::Column kSeriesColumns[] = {
    {"time", kTimestamp, "", "start of the bucket"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "UUID of the GPU, or of its slice under MIG"},
    {"seconds", kReal, "s", "length of the bucket"},
    BELAY_GPU_QUANTITIES,
};

constexpr record::Column kJobColumns[] = {
    {"time", kTimestamp, "", "start of the second"},
    {"node", kText, "", "null: the job as a whole"},
    {"observed_share", kReal, "ratio", "share of the GPUs of which there are samples"},
    {"saturated_share", kReal, "ratio", "means over the GPUs"},
    {"engine_share", kReal, "ratio", ""},
    {"sm_share", kReal, "ratio", ""},
    {"tensor_share", kReal, "ratio", ""},
    {"dram_share", kReal, "ratio", ""},
    {"power_watts", kReal, "W", ""},
    {"link_bytes_per_second", kReal, "B/s", "PCIe, NVLink and C2C"},
};

}  // namespace

constexpr record::Table kGpuSummary{"gpu_summary", record::Cadence::kEvents,
                                    "a row per GPU: means over the observed time", kSummaryColumns};
constexpr record::Table kGpuSeries{"gpu_series", record::Cadence::kEvents,
                                   "a row per GPU and bucket, at most 600 buckets over the run",
                                   kSeriesColumns};
constexpr record::Table kJobSeries{"job_series", record::Cadence::kEvents,
                                   "a row per second: the GPUs of the job together", kJobColumns};

}  // namespace belay::findings
