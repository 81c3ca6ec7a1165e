#include "gpu/gpm_metrics.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

// NVIDIA's NVML API reference, nvmlGpmMetricId_t: library and replay share our table, and exchanged ids would
// agree with each other.
struct Documented {
    unsigned id;
    std::string_view name;   // behind NVML_GPM_METRIC_
    std::string_view field;  // empty: not read
};
constexpr Documented kDocumented[] = {
    {1, "GRAPHICS_UTIL", "engine_active_ratio"},
    {2, "SM_UTIL", "sm_active_ratio"},
    {3, "SM_OCCUPANCY", "sm_occupancy_ratio"},
    {4, "INTEGER_UTIL", "integer_active_ratio"},
    {5, "ANY_TENSOR_UTIL", "tensor_active_ratio"},
    {6, "DFMA_TENSOR_UTIL", "tensor_double_active_ratio"},
    {7, "HMMA_TENSOR_UTIL", "tensor_half_active_ratio"},
    {8, "DMMA_TENSOR_UTIL", ""},
    {9, "IMMA_TENSOR_UTIL", "tensor_integer_active_ratio"},
    {10, "DRAM_BW_UTIL", "dram_active_ratio"},
    {11, "FP64_UTIL", "fp64_active_ratio"},
    {12, "FP32_UTIL", "fp32_active_ratio"},
    {13, "FP16_UTIL", "fp16_active_ratio"},
    {20, "PCIE_TX_PER_SEC", "pcie_sent_bytes_per_second"},
    {21, "PCIE_RX_PER_SEC", "pcie_received_bytes_per_second"},
    {40, "NVJPG_0_UTIL", "jpeg_active_ratio"},
    {60, "NVLINK_TOTAL_RX_PER_SEC", "nvlink_received_bytes_per_second"},
    {61, "NVLINK_TOTAL_TX_PER_SEC", "nvlink_sent_bytes_per_second"},
    {100, "C2C_TOTAL_TX_PER_SEC", "c2c_sent_bytes_per_second"},
    {101, "C2C_TOTAL_RX_PER_SEC", "c2c_received_bytes_per_second"},
};

TEST(gpu, metrics_of_gpm_have_their_documented_ids_and_units) {
    size_t read = 0;
    for (const Documented& metric : kDocumented) {
        auto ours = std::ranges::find(kGpmMetricFields, metric.id, &GpmMetricField::id);
        if (metric.field.empty()) {
            EXPECT_EQ(ours, std::end(kGpmMetricFields)) << metric.name;
            continue;
        }
        ++read;
        ASSERT_NE(ours, std::end(kGpmMetricFields)) << metric.name;
        EXPECT_EQ(kFields[ours->field].name, metric.field) << metric.name;
        EXPECT_EQ(ours->unit, metric.name.ends_with("_PER_SEC") ? 1024.0 * 1024.0 : 0.01) << metric.name;
    }
    EXPECT_EQ(read, std::size(kGpmMetricFields)) << "each stands once";
}

}  // namespace
}  // namespace belay::gpu
