// What vetting asks of one device, from NVML.
#pragma once

#include "gpu/facts.h"
#include "gpu/nvml.h"

namespace belay::gpu {

Facts read_facts(const nvml::Library& library, nvml::Handle device);

}  // namespace belay::gpu
