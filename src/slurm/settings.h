// What may be configured of how Slurm is asked.
#pragma once

#include "core/config.h"

namespace belay::slurm {

inline constexpr core::Setting kSettings[] = {
    {"munge.socket", core::SettingType::kText, "",
     "socket of munge; without it, that of AuthInfo in slurm.conf, or the one that its library knows"},
};

}  // namespace belay::slurm
