#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kProgressColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the line says it happened, or when it was read"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"task", ColumnType::kInteger, "", "rank that printed the line; null outside Slurm"},
    {"source", ColumnType::kText, "", "what read the line: mllog, or pattern"},
    {"kind", ColumnType::kText, "", "train, evaluation, or mark (anything else that was logged)"},
    {"key", ColumnType::kText, "", "key of the MLLOG event; null for a pattern"},
    {"epoch", ColumnType::kReal, "", "epoch"},
    {"step", ColumnType::kInteger, "", "training step (iteration), from 1"},
    {"total_steps", ColumnType::kInteger, "", "steps that the run will take"},
    {"loss", ColumnType::kReal, "", "training loss"},
    {"metric", ColumnType::kReal, "", "value of the evaluation, such as an error or an accuracy"},
    {"learning_rate", ColumnType::kReal, "", "learning rate"},
    {"gradient_norm", ColumnType::kReal, "", "norm of the gradient"},
    {"step_seconds", ColumnType::kReal, "s", "duration of one step"},
    {"data_wait_seconds", ColumnType::kReal, "s", "of one step, the time in which training waited for data"},
    {"exposed_communication_seconds", ColumnType::kReal, "s",
     "of one step, the time in which training waited for other ranks and computed nothing"},
    {"samples_per_second", ColumnType::kReal, "1/s", "throughput of the whole job in samples"},
    {"tokens_per_second", ColumnType::kReal, "1/s", "throughput of the whole job in tokens"},
    {"flops_per_second", ColumnType::kReal, "FLOP/s",
     "floating-point operations of the whole job, as the program counts them"},
    {"fp64_flops_per_second", ColumnType::kReal, "FLOP/s", "those in double precision"},
    {"fp32_flops_per_second", ColumnType::kReal, "FLOP/s", "those in single precision"},
    {"memory_bytes_per_second", ColumnType::kReal, "B/s",
     "bytes that the whole job read from and wrote to main memory, as the program counts them"},
    {"samples", ColumnType::kInteger, "", "samples consumed so far"},
    {"tokens", ColumnType::kInteger, "", "tokens consumed so far"},
    {"value", ColumnType::kReal, "", "the event's value where it is a number"},
    {"text", ColumnType::kText, "",
     "the event's value (or status) where it is not a number, as JSON, at most 4 KiB"},
};

inline constexpr Table kProgress{"progress", Cadence::kEvents,
                                 "what the training program printed about its progress", kProgressColumns};

}  // namespace belay::schema
