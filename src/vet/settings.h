// What may be configured of vetting.
#pragma once

#include "core/config.h"

namespace belay::vet {

inline constexpr core::Setting kSettings[] = {
    {"vet.timeout", core::SettingType::kDuration, "2m", "until all nodes of a step must have reported"},
};

}  // namespace belay::vet
