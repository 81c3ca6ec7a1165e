// A BLAS of the machine, loaded by name: what real programs multiply with.
#pragma once

#include <cstddef>
#include <string>

namespace belay::kernels {

struct Blas {
    // As of the C interface of BLAS (cblas.h), with 32-bit integers.
    using Dgemm = void(int order, int transpose_a, int transpose_b, int rows, int columns, int depth,
                       double alpha, const double* a, int lda, const double* b, int ldb, double beta,
                       double* c, int ldc);
    using Sgemm = void(int order, int transpose_a, int transpose_b, int rows, int columns, int depth,
                       float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
    Dgemm* dgemm = nullptr;
    Sgemm* sgemm = nullptr;
    void (*set_threads)(int) = nullptr;  // of the calls that follow; as many as the library was built for
    int (*threads)() = nullptr;
    std::string version;  // "OpenBLAS 0.3.21"
};

// Nothing where no OpenBLAS with threads is installed: one without also must not be called by several threads
// at once. Stays loaded, and keeps threads of its own.
const Blas* find_blas();

// c += a·b, row-major, n×n.
void multiply_add(const Blas& blas, const double* a, const double* b, double* c, size_t n);
void multiply_add(const Blas& blas, const float* a, const float* b, float* c, size_t n);

}  // namespace belay::kernels
