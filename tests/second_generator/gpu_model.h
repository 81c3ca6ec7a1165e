// What is told of models of GPUs, and how a program uses one.
#pragma once

namespace belay::second_generator {

// Shares, while it computes.
struct GpuUse {
    double engine = 0.98;
    double sm = 0.9;
    double occupancy = 0.25;
    double tensor = 0.45;
    double fp32 = 0.08;
    double fp16 = 0.03;
    double integer = 0.05;
    double dram = 0.35;
    double waiting_sm = 0.3;  // in a collective: NCCL's kernels look for the others
};

struct GpuModel {
    const char* name;
    const char* driver;
    const char* source;
    double memory;
    double highest_clock;
    double usual_clock;  // under load
    double memory_clock;
    double power_limit;
    double idle_power;
    int pcie_generation;
    bool has_counters;  // of pipes and DRAM
    bool has_kinds_of_tensor;
    bool has_c2c;
    int node_cpus;
    double node_memory;
};

inline constexpr double kMib = 1024.0 * 1024;
inline constexpr GpuModel kGpuModels[] = {
    {"NVIDIA H100 80GB HBM3", "550.90.07", "nvml", 81559 * kMib, 1980e6, 1785e6, 2619e6, 700, 72, 5, true,
     true, false, 96, 1000e9},
    {"NVIDIA GH200 120GB", "565.57.01", "nvml", 97871 * kMib, 1980e6, 1830e6, 2619e6, 660, 85, 5, true, true,
     true, 288, 850e9},
    {"NVIDIA A100-SXM4-80GB", "535.183.06", "dcgm", 81920 * kMib, 1410e6, 1395e6, 1593e6, 400, 58, 4, true,
     false, false, 128, 512e9},
    {"NVIDIA A100-SXM4-40GB", "535.183.06", "nvml", 40960 * kMib, 1410e6, 1395e6, 1215e6, 400, 52, 4, false,
     false, false, 64, 512e9},
};

}  // namespace belay::second_generator
