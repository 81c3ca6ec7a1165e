// A blocked matrix product in double precision: what the CPUs can compute.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <vector>

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

// Whether a matrix is a·b, without multiplying again: R. Freivalds' check (1977) compares c·x with a·(b·x)
// for a random x, which takes n² operations. All entries of x are at least 1, so that a single wrong element
// never escapes; several in one row do with a chance of at most 1 in 1024. For whole numbers whose sums stay
// below 2^53, as measure_gemm() multiplies them: comparison is exact.
class ProductCheck {
  public:
    ProductCheck(const double* a, const double* b, size_t n);
    // Whether c is `times` times a·b.
    bool holds(const double* c, int times) const;

  private:
    std::vector<double> weights_;  // x
    std::vector<double> sums_;     // a·(b·x)
};

}  // namespace belay::kernels
