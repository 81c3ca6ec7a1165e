// What may be configured of how Slurm is asked.
#pragma once

#include "core/config.h"

namespace belay::slurm {

inline constexpr core::Setting kSettings[] = {
    {"munge.socket", core::SettingType::kText, "",
     "socket of munge; the one that its library knows without it"},
};

}  // namespace belay::slurm
