#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kVettingColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the verdict was known"},
    {"node", ColumnType::kText, "", "name of the node that was checked"},
    {"name", ColumnType::kText, "", "name of the check in the protocol"},
    {"type", ColumnType::kText, "", "type of the check: mem.free, cpu.gemm ..."},
    {"status", ColumnType::kText, "", "pass, fail, error, unsupported or missing"},
    {"severity", ColumnType::kText, "", "essential, or warning, which convicts nobody"},
    {"device", ColumnType::kText, "", "device that was checked; null if none in particular"},
    {"method", ColumnType::kText, "", "how it was measured, where there are several ways: a library's name"},
    {"cpus", ColumnType::kInteger, "",
     "CPUs that took part in the measurement; null if it is not about CPUs"},
    {"value", ColumnType::kReal, "", "what was measured, in the unit of the row; null if nothing was"},
    {"unit", ColumnType::kText, "", "unit of value and threshold"},
    {"threshold", ColumnType::kReal, "", "what the value was compared with"},
    {"reason", ColumnType::kText, "", "why, in one line"},
    {"seconds", ColumnType::kReal, "s", "time that the check took"},
};

inline constexpr Table kVetting{
    "vetting", Cadence::kEvents, "a check of a node before the tasks started", kVettingColumns, 1, true};

}  // namespace belay::schema
