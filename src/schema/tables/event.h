#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kEventColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when it happened"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"task", ColumnType::kInteger, "", "rank that it concerns; null for the node as a whole"},
    {"kind", ColumnType::kText, "", "what happened, one word: one of the kinds below"},
    {"severity", ColumnType::kText, "", "info, warning or critical"},
    {"source", ColumnType::kText, "",
     "who told it: recorder, agent, nvml, dcgm, kernel, or the recording that was imported"},
    {"subject", ColumnType::kText, "",
     "what it concerns beside node, task and device, as its kind says: a program, a mount point, a table"},
    {"device", ColumnType::kText, "", "device that it concerns, by the name it has in the other tables"},
    {"code", ColumnType::kInteger, "", "number that the source gives it, as its kind says"},
    {"value", ColumnType::kReal, "", "how much or how often, as its kind says"},
    {"message", ColumnType::kText, "", "one line for a person; programs read the columns before it"},
};

inline constexpr Table kEvent{
    "event", Cadence::kEvents, "things that happened at one moment", kEventColumns, 2, true};

}  // namespace belay::schema
