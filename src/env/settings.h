// What may be configured of environments.
#pragma once

#include "core/config.h"

namespace belay::env {

inline constexpr core::Setting kSettings[] = {
    {"env.search_path", core::SettingType::kTextList, "/etc/edf",
     "directories of environments, after the user's own"},
    {"env.overlay_size", core::SettingType::kSize, "8GiB",
     "memory for what tasks write into a container's own files"},
};

}  // namespace belay::env
