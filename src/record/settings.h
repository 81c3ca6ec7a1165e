// What may be configured of reading records.
#pragma once

#include "core/config.h"

namespace belay::record {

// For SQL that a person or a site's rule wrote: a query that never ends or takes all memory of a login node
// ends itself.
inline constexpr core::Setting kSettings[] = {
    {"query.time", core::SettingType::kDuration, "2m", "longest time of one SQL query over a record"},
    {"query.memory", core::SettingType::kSize, "4GiB", "limit of the memory for a SQL query over a record"},
};

}  // namespace belay::record
