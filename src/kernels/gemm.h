// A blocked matrix product in double precision: what the CPUs can compute.
#pragma once

#include "core/error.h"

#include <cstddef>

namespace belay::kernels {

struct GemmOptions {
    size_t size = 768;  // rows and columns
    int threads = 0;    // 0: one for each usable CPU; each multiplies matrices of its own
    int repeats = 5;    // timed runs after one that is not
};

// Floating-point operations per second (2·size³ per product and thread) of the best run. Errors: kBadInput
// for options out of range (size 16 to 8192, 1 to 1024 threads, 1 to 1000 repeats), kSystem if memory or
// threads are not to be had or a result is wrong.
core::Result<double> measure_gemm(const GemmOptions& options);

// c += a·b, row-major, n×n, any n.
void multiply_add(const double* a, const double* b, double* c, size_t n);
// The same, compiled for every CPU of the architecture.
void multiply_add_portable(const double* a, const double* b, double* c, size_t n);

}  // namespace belay::kernels
