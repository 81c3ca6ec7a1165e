#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kAllocationColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was written"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"job_id", ColumnType::kInteger, "", "Slurm job; null outside Slurm"},
    {"step_id", ColumnType::kText, "", "number of the Slurm step, or interactive; null in a batch script"},
    {"restart", ColumnType::kInteger, "", "times that the job had been requeued before"},
    {"device", ColumnType::kText, "", "device that was allocated (a GPU's UUID); null for the node itself"},
    {"first_task", ColumnType::kInteger, "", "lowest rank on the node"},
    {"tasks", ColumnType::kInteger, "", "tasks on the node"},
    {"cpus", ColumnType::kInteger, "", "CPUs that the step may use on the node"},
    {"t0", ColumnType::kTimestamp, "", "start of the interval, which it includes"},
    {"t1", ColumnType::kTimestamp, "", "end of the interval, which it excludes; null while it is not known"},
};

inline constexpr Table kAllocation{
    "allocation", Cadence::kEvents,
    "which job had which node and device from when to when: maps samples to jobs", kAllocationColumns};

}  // namespace belay::schema
