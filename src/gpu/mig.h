// What a slice of MIG is called, and how much of its GPU it is.
#pragma once

#include "gpu/nvml_abi.h"

#include <string>
#include <string_view>

namespace belay::gpu {

// What the driver calls it: behind " MIG " in the name of a slice, "NVIDIA H200 MIG 1g.18gb". Where the name
// says nothing, the slices and the memory in GiB, which may differ from what the driver calls it.
std::string mig_profile(std::string_view name, const nvml::DeviceAttributes& attributes);

// Share of the GPU's multiprocessors; several compute instances may share one GPU instance and its memory.
// `most`: slices that a whole GPU makes, 7 of most models, 4 of an A30 (NVIDIA, MIG user guide).
double mig_weight(const nvml::DeviceAttributes& attributes, unsigned most);

}  // namespace belay::gpu
