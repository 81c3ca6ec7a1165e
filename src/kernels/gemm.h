// A matrix product: what the CPUs can compute. OpenBLAS does it where it is installed, else a blocked kernel
// of Belay's own, which reaches less.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace belay::kernels {

enum class Precision : uint8_t { kDouble, kSingle };

struct GemmOptions {
    size_t size = 1024;  // rows and columns for one thread; OpenBLAS has size·√threads, at most 16384
    int threads = 0;     // 0: one for each usable CPU
    int repeats = 5;     // timed runs after one that is not
    Precision precision = Precision::kDouble;
};

struct GemmRate {
    double flops_per_second = 0;  // 2·rows³ per product, of the best run
    std::string method;           // what multiplied: "OpenBLAS 0.3.21", or kOwnKernel
    int threads = 0;              // that multiplied: OpenBLAS may have been built for fewer than asked for
};
inline constexpr const char* kOwnKernel = "Belay's own kernel";

// Errors: kBadInput for options out of range (size 16 to 8192, 1 to 1024 threads, 1 to 1000 repeats), kSystem
// if memory or threads are not to be had or a result is wrong.
core::Result<GemmRate> measure_gemm(const GemmOptions& options);

// c += a·b, row-major, n×n, any n; for float and double.
template <typename T>
void multiply_add(const T* a, const T* b, T* c, size_t n);
// The same, compiled for every CPU of the architecture.
template <typename T>
void multiply_add_portable(const T* a, const T* b, T* c, size_t n);

// Whether a matrix is a·b, without multiplying again: R. Freivalds' check (1977) compares c·x with a·(b·x)
// for a random x, which takes n² operations. All entries of x are at least 1, so that a single wrong element
// never escapes; several in one row do with a chance of at most 1 in 1024. For whole numbers whose sums the
// type holds exactly, as measure_gemm() multiplies them: comparison is exact.
class ProductCheck {
  public:
    template <typename T>
    ProductCheck(const T* a, const T* b, size_t n);
    template <typename T>
    bool holds(const T* c) const;

  private:
    std::vector<double> weights_;  // x
    std::vector<double> sums_;     // a·(b·x)
};

}  // namespace belay::kernels
