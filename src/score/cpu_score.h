// The same model for jobs on CPUs, from what a machine can count without privileges: CPU time, always;
// floating-point operations, where the program tells them; memory traffic, never. So the score is the use of
// the floating-point units, and may be higher than that up to the busy time; without FLOP/s there are only
// bounds.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "score/job_score.h"

#include <string>
#include <vector>

namespace belay::score {

// The CPUs of one node that the job may use.
struct NodeCpus {
    std::string node;
    double cpus = 0;
    double held_seconds = 0;
    double sampled_seconds = 0;  // of them
    double busy_seconds = 0;     // CPU time of the job's processes
    double peak_flops = 0;       // measured by the check cpu.gemm before the job started; 0 if it was not
};

struct CpuUse {
    std::vector<NodeCpus> nodes;
    double flop = 0;  // that the program counted; NaN if it did not
};

// The GEMM of the check is in double precision; training in single precision can reach twice its rate, as
// vector units hold twice as many values.
inline constexpr double kSingleOverDouble = 2;

// Pure. gpus is empty, and so is what needs time series.
JobScore score_cpus(const CpuUse& use);

// Errors: kBadInput for damaged tables; kSystem.
core::Result<CpuUse> read_cpu_use(record::Archive& archive);

}  // namespace belay::score
