// What may be configured of the sources of GPUs.
#pragma once

#include "core/config.h"

namespace belay::gpu {

inline constexpr core::Setting kSettings[] = {
    {"nvml.library", core::SettingType::kText, "",
     "library that GPUs are read with; the driver's libnvidia-ml.so.1 without it"},
    {"dcgm.library", core::SettingType::kText, "",
     "library of DCGM; the system's libdcgm.so.4 or .3 without it"},
    {"dcgm.address", core::SettingType::kText, "127.0.0.1",
     "where DCGM's host engine listens: an address, or the path of a socket"},
};

}  // namespace belay::gpu
