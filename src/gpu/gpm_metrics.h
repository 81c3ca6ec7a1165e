// Metrics of GPM and the fields they fill.
#pragma once

#include "gpu/field.h"

namespace belay::gpu {

struct GpmMetricField {
    unsigned id;  // nvmlGpmMetricId_t
    size_t field;
    double unit;  // of the metric, in that of the field
};

inline constexpr double kPercent = 0.01;
inline constexpr double kMib = 1024.0 * 1024.0;

inline constexpr GpmMetricField kGpmMetricFields[] = {
    {1, field("engine_active_ratio"), kPercent},
    {2, field("sm_active_ratio"), kPercent},
    {3, field("sm_occupancy_ratio"), kPercent},
    {4, field("integer_active_ratio"), kPercent},
    {5, field("tensor_active_ratio"), kPercent},
    {6, field("tensor_double_active_ratio"), kPercent},
    {7, field("tensor_half_active_ratio"), kPercent},
    {9, field("tensor_integer_active_ratio"), kPercent},
    {10, field("dram_active_ratio"), kPercent},
    {11, field("fp64_active_ratio"), kPercent},
    {12, field("fp32_active_ratio"), kPercent},
    {13, field("fp16_active_ratio"), kPercent},
    {20, field("pcie_sent_bytes_per_second"), kMib},
    {21, field("pcie_received_bytes_per_second"), kMib},
    {40, field("jpeg_active_ratio"), kPercent},
    {60, field("nvlink_received_bytes_per_second"), kMib},
    {61, field("nvlink_sent_bytes_per_second"), kMib},
    {100, field("c2c_sent_bytes_per_second"), kMib},
    {101, field("c2c_received_bytes_per_second"), kMib},
};

}  // namespace belay::gpu
