// Fields of DCGM and the readings they fill. Numbers, since version 4.6 renamed the macros.
#pragma once

#include "gpu/field.h"

namespace belay::gpu {

struct DcgmField {
    unsigned short id;
    size_t field;
    double unit;  // of DCGM's value, in that of the field
};

// Of DCGM ratios are 0 to 1, rates in bytes per second, the frame buffer in MiB, energy in mJ.
inline constexpr DcgmField kDcgmFields[] = {
    {1001, field("engine_active_ratio"), 1},
    {1002, field("sm_active_ratio"), 1},
    {1003, field("sm_occupancy_ratio"), 1},
    {1004, field("tensor_active_ratio"), 1},
    {1005, field("dram_active_ratio"), 1},
    {1006, field("fp64_active_ratio"), 1},
    {1007, field("fp32_active_ratio"), 1},
    {1008, field("fp16_active_ratio"), 1},
    {1016, field("integer_active_ratio"), 1},
    {1009, field("pcie_sent_bytes_per_second"), 1},
    {1010, field("pcie_received_bytes_per_second"), 1},
    {1011, field("nvlink_sent_bytes_per_second"), 1},
    {1012, field("nvlink_received_bytes_per_second"), 1},
    {1076, field("c2c_sent_bytes_per_second"), 1},
    {1078, field("c2c_received_bytes_per_second"), 1},
    {203, field("utilization_ratio"), 0.01},
    {252, field("memory_used_bytes"), 1024.0 * 1024.0},
    {250, field("memory_total_bytes"), 1024.0 * 1024.0},
    {100, field("clock_sm_hertz"), 1e6},
    {101, field("clock_memory_hertz"), 1e6},
    {150, field("temperature_celsius"), 1},
    {140, field("memory_temperature_celsius"), 1},
    {155, field("power_watts"), 1},
    {156, field("energy_joules_total"), 1e-3},
    {112, field("clock_event_reasons"), 1},
    {240, field("power_violation_seconds_total"), 1e-9},
    {241, field("thermal_violation_seconds_total"), 1e-9},
    {310, field("ecc_corrected_total"), 1},
    {311, field("ecc_uncorrected_total"), 1},
    {396, field("remap_pending"), 1},
    {395, field("remap_failed"), 1},
    {202, field("pcie_replays_total"), 1},
    {237, field("pcie_generation"), 1},
    {238, field("pcie_width"), 1},
};
// Rows remapped for errors that could not be corrected, and that could: remapped_rows_total is the sum.
inline constexpr unsigned short kDcgmRemapped[] = {393, 394};
inline constexpr unsigned short kDcgmXid = 230;  // the last one
inline constexpr unsigned short kDcgmDriver = 1;
inline constexpr unsigned short kDcgmName = 50;
inline constexpr unsigned short kDcgmIndex = 52;  // NVML's
inline constexpr unsigned short kDcgmUuid = 54;
// Counters of pipes and DRAM, which the host engine multiplexes on GPUs before Hopper.
inline constexpr unsigned short kFirstProfilingField = 1001;

}  // namespace belay::gpu
