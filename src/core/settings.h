// What may be configured of the ground.
#pragma once

#include "core/config.h"

namespace belay::core {

inline constexpr Setting kSettings[] = {
    {"files.wait", SettingType::kDuration, "30s",
     "longest wait for one answer of a file server (0s: without end); ten times that to sync what was "
     "written"},
};

}  // namespace belay::core
