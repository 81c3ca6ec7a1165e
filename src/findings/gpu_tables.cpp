#include "findings/tables.h"

namespace belay::findings {

using enum record::ColumnType;

// score/ stands on a higher floor, and what it hands in must fit: cli/findings_tables_test.cpp compares both.
// clang-format off: one line per quantity
#define BELAY_GPU_QUANTITIES                                                                              \
    {"idle_share", kReal, "ratio", "time without an active engine"},                                      \
    {"gap_share", kReal, "ratio", "time with an engine active, without a warp on a multiprocessor"},      \
    {"unsaturated_share", kReal, "ratio", "time with warps, below every limit"},                          \
    {"saturated_share", kReal, "ratio", "use of the highest limit"},                                      \
    {"used_tensor_share", kReal, "ratio", "use of the tensor pipe, of its ceiling"},                      \
    {"used_fp64_share", kReal, "ratio", "use of the FP64 pipe, of its ceiling"},                          \
    {"used_fp32_share", kReal, "ratio", "use of the FP32 pipe, of its ceiling"},                          \
    {"used_fp16_share", kReal, "ratio", "use of the FP16 pipe, of its ceiling"},                          \
    {"used_dram_share", kReal, "ratio", "use of the device memory's bandwidth, of its ceiling"},          \
    {"engine_share", kReal, "ratio", "engine active, as sampled"},                                        \
    {"sm_share", kReal, "ratio", "multiprocessors active, as sampled"},                                   \
    {"occupancy_share", kReal, "ratio", "warps of those that would fit"},                                 \
    {"tensor_share", kReal, "ratio", "tensor pipe active, as sampled"},                                   \
    {"dram_share", kReal, "ratio", "device memory active, as sampled"},                                   \
    {"utilization_share", kReal, "ratio", "time in which any kernel was there"},                          \
    {"clock_hertz", kReal, "Hz", "clock of the multiprocessors"},                                         \
    {"power_watts", kReal, "W", "power of the board"},                                                    \
    {"temperature_celsius", kReal, "°C", "highest temperature"},                                          \
    {"memory_used_bytes", kReal, "B", "highest use of device memory"},                                    \
    {"pcie_bytes_per_second", kReal, "B/s", "over PCIe, both directions"},                                \
    {"nvlink_bytes_per_second", kReal, "B/s", "over NVLink, both directions"},                            \
    {"c2c_bytes_per_second", kReal, "B/s", "over the link to the CPU, both directions"},                  \
    {"link_share", kReal, "ratio", "use of the busiest link, of its bandwidth"},                          \
    {"power_capped_share", kReal, "ratio", "time in which the power limit held the clock down"},          \
    {"thermal_share", kReal, "ratio", "time in which heat held the clock down"},                          \
    {"slowdown_share", kReal, "ratio", "time in which the hardware's slowdown or power brake was on"}
// clang-format on

namespace {

constexpr std::string_view kSaturation = "time with a saturation from here on, in percent";

constexpr record::Column kSummaryColumns[] = {
    {"time", kTimestamp, "", "start of the span"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "UUID of the GPU"},
    {"index", kInteger, "", "number on the node"},
    {"name", kText, "", "model"},
    {"weight", kReal, "ratio", "share of a whole GPU"},
    {"allocated_seconds", kReal, "s", "time for which it was held, by weight"},
    {"observed_seconds", kReal, "s", "time of which its saturation is known, by weight"},
    {"score", kReal, "", "saturation score, 0 to 100"},
    {"idle_seconds", kReal, "s", "observed time that was idle"},
    {"gap_seconds", kReal, "s", "observed time with an engine but no multiprocessor active"},
    {"unsaturated_seconds", kReal, "s", "observed time below every limit"},
    {"saturated_seconds", kReal, "s", "observed time, times the use of the highest limit"},
    {"energy_joules", kReal, "J", "energy that it took"},
    {"memory_peak_bytes", kReal, "B", "most memory in use"},
    {"memory_total_bytes", kReal, "B", "memory of the device"},
    {"flop_use", kReal, "ratio", "tensor pipe, times clock over the highest clock"},
    {"link_bound_seconds", kReal, "s", "time in which it waited for a link"},
    {"copy_driven_seconds", kReal, "s", "time in which copies used the memory more than kernels did"},
    {"mig_profile", kText, "", "of a slice under MIG"},
    {"slack_seconds", kReal, "s", "by which saturated_seconds may be too low"},
    {"uncounted_seconds", kReal, "s", "observed without counters: nothing ran"},
    {"gap_unknown_seconds", kReal, "s", "in which idle and gap are not told apart"},
    {"clock_unknown_seconds", kReal, "s", "in which the clock counted as that of the ceilings"},
    {"integer_unknown_seconds", kReal, "s", "in which FP32 may hold integer work"},
    {"pipes_mean", kReal, "ratio", "sum of the pipes as sampled, mean"},
    {"seconds_at_00", kReal, "s", kSaturation},
    {"seconds_at_05", kReal, "s", kSaturation},
    {"seconds_at_10", kReal, "s", kSaturation},
    {"seconds_at_15", kReal, "s", kSaturation},
    {"seconds_at_20", kReal, "s", kSaturation},
    {"seconds_at_25", kReal, "s", kSaturation},
    {"seconds_at_30", kReal, "s", kSaturation},
    {"seconds_at_35", kReal, "s", kSaturation},
    {"seconds_at_40", kReal, "s", kSaturation},
    {"seconds_at_45", kReal, "s", kSaturation},
    {"seconds_at_50", kReal, "s", kSaturation},
    {"seconds_at_55", kReal, "s", kSaturation},
    {"seconds_at_60", kReal, "s", kSaturation},
    {"seconds_at_65", kReal, "s", kSaturation},
    {"seconds_at_70", kReal, "s", kSaturation},
    {"seconds_at_75", kReal, "s", kSaturation},
    {"seconds_at_80", kReal, "s", kSaturation},
    {"seconds_at_85", kReal, "s", kSaturation},
    {"seconds_at_90", kReal, "s", kSaturation},
    {"seconds_at_95", kReal, "s", kSaturation},
    BELAY_GPU_QUANTITIES,
};

constexpr record::Column kSeriesColumns[] = {
    {"time", kTimestamp, "", "start of the span"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "UUID of the GPU"},
    {"seconds", kReal, "s", "length of the span"},
    BELAY_GPU_QUANTITIES,
};

constexpr record::Column kJobColumns[] = {
    {"time", kTimestamp, "", "start of the span"},
    {"node", kText, "", "name of the node"},
    {"observed_share", kReal, "ratio", "share of the devices that were sampled"},
    {"saturated_share", kReal, "ratio", "use of the highest limit, mean"},
    {"engine_share", kReal, "ratio", "engine active, mean"},
    {"sm_share", kReal, "ratio", "multiprocessors active, mean"},
    {"tensor_share", kReal, "ratio", "tensor pipe active, mean"},
    {"dram_share", kReal, "ratio", "device memory active, mean"},
    {"power_watts", kReal, "W", "power of all devices that were sampled"},
    {"link_bytes_per_second", kReal, "B/s", "over all links of those devices"},
};

}  // namespace

constexpr record::Table kGpuSummary{"gpu_summary", record::Cadence::kEvents, "a device over the whole job",
                                    kSummaryColumns};
constexpr record::Table kGpuSeries{"gpu_series", record::Cadence::kEvents, "a device over a span of the job",
                                   kSeriesColumns};
constexpr record::Table kJobSeries{"job_series", record::Cadence::kEvents,
                                   "all devices of the job, second by second", kJobColumns};

}  // namespace belay::findings
