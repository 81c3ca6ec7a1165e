// What may be configured of findings.
#pragma once

#include "core/config.h"

namespace belay::findings {

inline constexpr core::Setting kSettings[] = {
    {"findings.rules", core::SettingType::kText, "/etc/belay/findings.d",
     "directory of the site's own rules"},
};

}  // namespace belay::findings
