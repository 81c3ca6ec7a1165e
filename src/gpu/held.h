// Which of a node's GPUs are a job's, from the variables of its tasks.
#pragma once

#include "core/process.h"
#include "gpu/source.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace belay::gpu {

// Indices into `devices`, in their order.
//
// What Slurm lists (SLURM_STEP_GPUS, else SLURM_JOB_GPUS) are numbers of the whole node. Where cgroups hide
// the others, the driver counts only what is left, from 0: if it shows no more GPUs than are listed, all are
// held. Slurm's list goes before CUDA_VISIBLE_DEVICES, which may name the GPUs of one task only, and hides
// what the job holds and does not use. Without Slurm's list that variable counts, by CUDA's rules: numbers,
// beginnings of UUIDs, and the first entry that fits nothing ends it. With neither, all are held. Slices of
// MIG, which Slurm numbers in its own way, count by the names in CUDA_VISIBLE_DEVICES; without names all.
std::vector<size_t> held_devices(const std::vector<Device>& devices, const core::Environment& environment);

// How many GPUs, or slices of them, Slurm has given to the step or job on this node; nothing without its
// list.
std::optional<size_t> gpus_given_by_slurm(const core::Environment& environment);

}  // namespace belay::gpu
