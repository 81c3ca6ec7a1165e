#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kOutputTailColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the task ended"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"task", ColumnType::kInteger, "", "rank that printed the line; null outside Slurm"},
    {"stream", ColumnType::kText, "", "standard output or standard error"},
    {"line", ColumnType::kInteger, "", "number among the lines that are kept of the stream, from 1"},
    {"text", ColumnType::kText, "", "the line, at most 500 bytes, with [masked] in the place of secrets"},
};

inline constexpr Table kOutputTail{"output_tail", Cadence::kEvents,
                                   "what tasks that ended with an error printed last", kOutputTailColumns};

}  // namespace belay::schema
