// The same model for jobs on CPUs, from what a machine can count without privileges: CPU time, always;
// floating-point operations and bytes of memory, where the program reports them. Two limits are known: the
// arithmetic of the CPUs, by precision (a GEMM by OpenBLAS), and their memory (STREAM), both as vetting
// measured them before the job.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "score/job_score.h"

#include <string>
#include <vector>

namespace belay::score {

// A rate that vetting measured on one node; 0 if it did not.
struct CpuCeiling {
    double rate = 0;  // FLOP/s or B/s
    double cpus = 0;  // on which it was measured; 0: all that the job may use
};

struct CpuCeilings {
    CpuCeiling double_flops;  // cpu.gemm
    CpuCeiling single_flops;  // cpu.sgemm
    CpuCeiling bytes;         // cpu.stream
    bool is_blas = false;     // the products: else by a kernel that reaches less than a BLAS
};

// The CPUs of one node that the job may use.
struct NodeCpus {
    std::string node;
    double cpus = 0;
    double held_seconds = 0;
    double sampled_seconds = 0;  // of them
    double busy_seconds = 0;     // CPU time of the job's processes
    double node_cpus = 0;        // that the node has; 0 if that is not known
    double others_seconds = 0;   // CPU time that others used of the node meanwhile; NaN if that is not known
    CpuCeilings ceilings;
};

// What the program says it did, in all; NaN for what it does not report.
struct CpuWork {
    double double_flop = 0;
    double single_flop = 0;  // or of a precision that it does not tell
    double bytes = 0;        // read from and written to main memory
};

struct CpuUse {
    std::vector<NodeCpus> nodes;
    CpuWork work;
    double reported_seconds = 0;  // of the run, of which the program reports its work
    double below_zero = 0;        // lines with a figure that no work can have, which does not count
};

// Pure. gpus is empty, and so is what needs time series. There is a point only where all that was reported
// has a measured ceiling and fits under it.
JobScore score_cpus(const CpuUse& use);

// Errors: kBadInput for damaged tables; kSystem.
core::Result<CpuUse> read_cpu_use(record::Archive& archive);

}  // namespace belay::score
