#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kGpuDeviceColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the recorder found it"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "UUID of the GPU, or of its slice under MIG"},
    {"index", ColumnType::kInteger, "", "number by which the driver lists it on the node"},
    {"name", ColumnType::kText, "", "model: NVIDIA H100 80GB HBM3 ..."},
    {"mig_profile", ColumnType::kText, "", "profile of the slice, 1g.10gb ...; null for a whole GPU"},
    {"weight", ColumnType::kReal, "ratio", "share of a whole GPU's multiprocessors; 1 for a whole GPU"},
    {"driver", ColumnType::kText, "", "version of the driver"},
    {"source", ColumnType::kText, "", "what read it: nvml, dcgm, or the recording it was imported from"},
};

inline constexpr Table kGpuDevice{"gpu_device", Cadence::kEvents, "what the GPUs of a node are",
                                  kGpuDeviceColumns};

}  // namespace belay::schema
