// What may be configured of staging.
#pragma once

#include "core/config.h"

namespace belay::stage {

inline constexpr core::Setting kSettings[] = {
    {"stage.timeout", core::SettingType::kDuration, "1h", "within which srun --stage must have brought the data to all nodes"},
};

}  // namespace belay::stage
