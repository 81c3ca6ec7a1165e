#pragma once

#include "record/schema.h"

namespace belay::record {

inline constexpr Column kEventColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when it happened"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"task", ColumnType::kInteger, "", "rank that it concerns; null for the node as a whole"},
    {"kind", ColumnType::kText, "", "what happened, one word: task_start, task_end, filesystem_hang ..."},
    {"severity", ColumnType::kText, "", "info, warning or critical"},
    {"message", ColumnType::kText, "", "one line for a person"},
};

inline constexpr Table kEvent{"event", Cadence::kEvents, "things that happened at one moment", kEventColumns};

}  // namespace belay::record
