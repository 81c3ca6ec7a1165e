#include "record/import/gssr_row.h"

#include "schema/tables/gpu.h"

#include <cmath>

namespace belay::record {

using enum GssrField;

const std::array<GssrFieldFacts, kGssrFields> kGssrFieldFacts = {{
    {kUtilization, "DCGM_FI_DEV_GPU_UTIL", "gpu_utilization"},
    {kMemoryFree, "DCGM_FI_DEV_FB_FREE", "fb_free"},
    {kMemoryUsed, "DCGM_FI_DEV_FB_USED", "fb_used"},
    {kMemoryReserved, "DCGM_FI_DEV_FB_RESERVED", "fb_resv"},
    {kMemoryTotal, "", "fb_total"},
    {kSmActive, "DCGM_FI_PROF_SM_ACTIVE", "sm_active"},
    {kSmOccupancy, "DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy"},
    {kTensor, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active"},
    {kFp64, "DCGM_FI_PROF_PIPE_FP64_ACTIVE", "fp64_active"},
    {kFp32, "DCGM_FI_PROF_PIPE_FP32_ACTIVE", "fp32_active"},
    {kFp16, "DCGM_FI_PROF_PIPE_FP16_ACTIVE", "fp16_active"},
    {kDram, "DCGM_FI_PROF_DRAM_ACTIVE", "dram_active"},
    {kPcieSent, "DCGM_FI_PROF_PCIE_TX_BYTES", "pcie_tx_bytes"},
    {kPcieReceived, "DCGM_FI_PROF_PCIE_RX_BYTES", "pcie_rx_bytes"},
    {kNvlinkReceived, "DCGM_FI_PROF_NVLINK_RX_BYTES", "nvlink_rx_bytes"},
    {kNvlinkSent, "DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlink_tx_bytes"},
    {kC2cSent, "DCGM_FI_PROF_C2C_TX_ALL_BYTES", ""},
    {kC2cReceived, "DCGM_FI_PROF_C2C_RX_ALL_BYTES", ""},
    {kEnergy, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", ""},
    {kPower, "DCGM_FI_DEV_POWER_USAGE", ""},
}};

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
// Shares are written with two digits and means of counters read at slightly different times: a little above 1
// is still 1.
constexpr double kHighestShare = 1.05;
// DCGM's blank for a number is 2^47; no rate and no energy of a window comes near.
constexpr double kLowestBlank = 140'737'488'355'328.0;
constexpr double kMostMemory = 1e9;  // MiB

// The fields that are one column of the table `gpu`: column = average × scale.
struct Plain {
    GssrField field;
    size_t column;
    double scale;
};
constexpr Plain kPlain[] = {
    {kUtilization, column(schema::kGpu, "utilization_ratio"), 0.01},
    {kSmActive, column(schema::kGpu, "sm_active_ratio"), 1},
    {kSmOccupancy, column(schema::kGpu, "sm_occupancy_ratio"), 1},
    {kTensor, column(schema::kGpu, "tensor_active_ratio"), 1},
    {kFp64, column(schema::kGpu, "fp64_active_ratio"), 1},
    {kFp32, column(schema::kGpu, "fp32_active_ratio"), 1},
    {kFp16, column(schema::kGpu, "fp16_active_ratio"), 1},
    {kDram, column(schema::kGpu, "dram_active_ratio"), 1},
    {kPcieSent, column(schema::kGpu, "pcie_sent_bytes_per_second"), 1},
    {kPcieReceived, column(schema::kGpu, "pcie_received_bytes_per_second"), 1},
    {kNvlinkSent, column(schema::kGpu, "nvlink_sent_bytes_per_second"), 1},
    {kNvlinkReceived, column(schema::kGpu, "nvlink_received_bytes_per_second"), 1},
    {kC2cSent, column(schema::kGpu, "c2c_sent_bytes_per_second"), 1},
    {kC2cReceived, column(schema::kGpu, "c2c_received_bytes_per_second"), 1},
    {kPower, column(schema::kGpu, "power_watts"), 1},
};

constexpr GssrField kRates[] = {kPcieSent,   kPcieReceived, kNvlinkReceived,
                                kNvlinkSent, kC2cSent,      kC2cReceived};

bool is_share(GssrField field) {
    return field >= kSmActive && field <= kDram;
}

double highest_of(GssrField field) {
    if (field == kUtilization) return 100 * kHighestShare;
    if (field >= kMemoryFree && field <= kMemoryTotal) return kMostMemory;
    return is_share(field) ? kHighestShare : std::nextafter(kLowestBlank, 0.0);
}

int64_t bytes_of(double mebibytes) {
    return static_cast<int64_t>(std::llround(mebibytes * kMebibyte));
}

}  // namespace

bool is_active(const GssrRow& row) {
    return row[kUtilization].average > 0 || row[kSmActive].average > 0;
}

bool is_busy(const GssrRow& row) {
    return row[kUtilization].average >= 10 || row[kSmActive].average >= 0.05;
}

std::bitset<kGssrFields> drop_impossible(GssrRow& row) {
    std::bitset<kGssrFields> dropped;
    for (size_t i = 0; i < kGssrFields; ++i) {
        double& value = row.values[i].average;
        if (value >= 0 && value <= highest_of(static_cast<GssrField>(i))) continue;
        const bool is_blank = std::isnan(value) || (std::isfinite(value) && value >= kLowestBlank);
        if (!is_blank) dropped.set(i);
        value = kMissing;
    }
    return dropped;
}

std::bitset<kGssrFields> drop_clipped(GssrRow& row) {
    std::bitset<kGssrFields> clipped;
    bool active = is_active(row);
    for (GssrField field : kRates) {
        Summary& rate = row[field];
        if (rate.average != 0 || !(active || rate.minimum > 0 || rate.maximum > 0)) continue;
        rate.average = kMissing;
        clipped.set(static_cast<size_t>(field));
    }
    // A board draws power while it is there, and has memory: what says otherwise is a blank that was clipped.
    for (GssrField field : {kPower, kEnergy})
        if (row[field].average == 0) row[field].average = kMissing;
    if (row[kMemoryUsed].average == 0 && !(row[kMemoryFree].average > 0))
        row[kMemoryUsed].average = row[kMemoryFree].average = row[kMemoryReserved].average = kMissing;
    return clipped;
}

void add_gpu_row(stream::Batch& rows, core::Time time, std::string_view node, std::string_view device,
                 const GssrRow& row, double energy_joules) {
    rows.add_row(time, node);
    rows.set(column(schema::kGpu, "device"), device);
    for (const Plain& plain : kPlain) {
        double value = row[plain.field].average * plain.scale;
        if (is_share(plain.field) || plain.field == kUtilization) value = value > 1 ? 1 : value;
        rows.set(plain.column, value);
    }
    double used = row[kMemoryUsed].average;
    double total = row[kMemoryTotal].average;
    if (!(total > 0)) {
        double reserved = row[kMemoryReserved].average;
        total = used + row[kMemoryFree].average + (std::isnan(reserved) ? 0 : reserved);
    }
    if (!std::isnan(used)) rows.set(column(schema::kGpu, "memory_used_bytes"), bytes_of(used));
    if (total > 0) rows.set(column(schema::kGpu, "memory_total_bytes"), bytes_of(total));
    rows.set(column(schema::kGpu, "energy_joules_total"), energy_joules);
}

}  // namespace belay::record
