// What may be configured of staging.
#pragma once

#include "core/config.h"

namespace belay::stage {

inline constexpr core::Setting kSettings[] = {
    {"stage.timeout", core::SettingType::kDuration, "1h",
     "within which srun --stage must have brought the data to all nodes"},
    {"stage.memory_share", core::SettingType::kNumber, "0.5",
     "of a job's memory that files in memory may take, where data are staged to such"},
};

}  // namespace belay::stage
