#include "score/digest.h"

namespace belay::score {

namespace {

constexpr std::array<QuantityFacts, kQuantities> kFacts = {{
    {"idle_share", "ratio", "time without an active engine"},
    {"gap_share", "ratio", "time with an engine active, without a warp on a multiprocessor"},
    {"unsaturated_share", "ratio", "time with warps, below every limit"},
    {"saturated_share", "ratio", "use of the highest limit"},
    {"used_tensor_share", "ratio", "use of the tensor pipe, of its ceiling"},
    {"used_fp64_share", "ratio", "use of the FP64 pipe, of its ceiling"},
    {"used_fp32_share", "ratio", "use of the FP32 pipe, of its ceiling"},
    {"used_fp16_share", "ratio", "use of the FP16 pipe, of its ceiling"},
    {"used_dram_share", "ratio", "use of the device memory's bandwidth, of its ceiling"},
    {"engine_share", "ratio", "engine active, as sampled"},
    {"sm_share", "ratio", "multiprocessors active, as sampled"},
    {"occupancy_share", "ratio", "warps of those that would fit"},
    {"tensor_share", "ratio", "tensor pipe active, as sampled"},
    {"dram_share", "ratio", "device memory active, as sampled"},
    {"utilization_share", "ratio", "time in which any kernel was there"},
    {"clock_hertz", "Hz", "clock of the multiprocessors"},
    {"power_watts", "W", "power of the board"},
    {"temperature_celsius", "°C", "highest temperature"},
    {"memory_used_bytes", "B", "highest use of device memory"},
    {"pcie_bytes_per_second", "B/s", "over PCIe, both directions"},
    {"nvlink_bytes_per_second", "B/s", "over NVLink, both directions"},
    {"c2c_bytes_per_second", "B/s", "over the link to the CPU, both directions"},
    {"link_share", "ratio", "use of the busiest link, of its bandwidth"},
    {"power_capped_share", "ratio", "time in which the power limit held the clock down"},
    {"thermal_share", "ratio", "time in which heat held the clock down"},
    {"slowdown_share", "ratio", "time in which the hardware's slowdown or power brake was on"},
}};

}  // namespace

const QuantityFacts& facts(Quantity quantity) {
    return kFacts[static_cast<size_t>(quantity)];
}

}  // namespace belay::score
