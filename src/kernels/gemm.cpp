#include "kernels/gemm.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

namespace belay::kernels {

namespace {

using core::bad_input;
using core::Result;

// A tile of the result stays in registers: 4 rows of 2 vectors. The compiler splits vectors that are wider
// than the CPU's.
constexpr size_t kVector = 4, kTileRows = 4, kTileColumns = 2 * kVector;
constexpr size_t kDepth = 256;  // kDepth × kTileColumns doubles of b (16 KiB) stay in the first cache
typedef double Vector __attribute__((vector_size(kVector * sizeof(double))));

// kTileRows × kTileColumns of c from `depth` columns of a; b is packed as depth rows of kTileColumns.
inline __attribute__((always_inline)) void multiply_tile(const double* a, const double* packed, double* c,
                                                         size_t n, size_t depth) {
    Vector sum[kTileRows][2] = {};
    for (size_t k = 0; k < depth; ++k) {
        Vector left, right;
        std::memcpy(&left, packed + k * kTileColumns, sizeof left);
        std::memcpy(&right, packed + k * kTileColumns + kVector, sizeof right);
        for (size_t row = 0; row < kTileRows; ++row) {
            double scale = a[row * n + k];
            sum[row][0] += scale * left;
            sum[row][1] += scale * right;
        }
    }
    for (size_t row = 0; row < kTileRows; ++row)
        for (size_t column = 0; column < kTileColumns; ++column)
            c[row * n + column] += sum[row][column / kVector][column % kVector];
}

// What no whole tile covers.
inline __attribute__((always_inline)) void multiply_rest(const double* a, const double* b, double* c,
                                                         size_t n, size_t first_row, size_t first_column) {
    for (size_t row = 0; row < n; ++row)
        for (size_t column = row < first_row ? first_column : 0; column < n; ++column) {
            double sum = 0;
            for (size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
            c[row * n + column] += sum;
        }
}

inline __attribute__((always_inline)) void multiply_blocks(const double* a, const double* b, double* c,
                                                           size_t n) {
    alignas(64) double packed[kDepth * kTileColumns];
    size_t rows = n / kTileRows * kTileRows, columns = n / kTileColumns * kTileColumns;
    for (size_t k = 0; k < n; k += kDepth) {
        size_t depth = std::min(kDepth, n - k);
        for (size_t column = 0; column < columns; column += kTileColumns) {
            for (size_t i = 0; i < depth; ++i)
                std::memcpy(packed + i * kTileColumns, b + (k + i) * n + column,
                            kTileColumns * sizeof(double));
            for (size_t row = 0; row < rows; row += kTileRows)
                multiply_tile(a + row * n + k, packed, c + row * n + column, n, depth);
        }
    }
    multiply_rest(a, b, c, n, rows, columns);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_add_avx2(const double* a, const double* b, double* c,
                                                           size_t n) {
    multiply_blocks(a, b, c, n);
}
#endif

// Small whole numbers, whose products and sums are exact whatever the order.
void fill(std::vector<double>& matrix, size_t n, size_t factor) {
    for (size_t i = 0; i < n * n; ++i) matrix[i] = static_cast<double>(i * factor % 7) - 3;
}

// One row of the result, computed plainly, after `runs` products were added up.
bool row_is_right(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c,
                  size_t n, int runs) {
    size_t row = n / 2;
    for (size_t column = 0; column < n; ++column) {
        double sum = 0;
        for (size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        if (c[row * n + column] != sum * runs) return false;
    }
    return true;
}

}  // namespace

void multiply_add_portable(const double* a, const double* b, double* c, size_t n) {
    multiply_blocks(a, b, c, n);
}

void multiply_add(const double* a, const double* b, double* c, size_t n) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_add_avx2(a, b, c, n);
#endif
    multiply_add_portable(a, b, c, n);
}

Result<double> measure_gemm(const GemmOptions& options) {
    size_t n = options.size;
    if (n < 16 || n > 8192) return bad_input("matrices of {} rows: 16 to 8192 are possible", n);
    if (options.threads < 0 || options.threads > 1024)
        return bad_input("{} threads: 1 to 1024 are possible", options.threads);
    if (options.repeats < 1 || options.repeats > 1000)
        return bad_input("{} repeats: 1 to 1000 are possible", options.repeats);
    int threads = options.threads == 0 ? usable_cpus() : options.threads;

    std::vector<double> a, b;
    std::vector<std::vector<double>> results(static_cast<size_t>(threads));
    try {
        a.resize(n * n);
        b.resize(n * n);
        for (auto& result : results) result.assign(n * n, 0.0);
    } catch (const std::bad_alloc&) {
        return core::system_error("no memory for {} matrices of {} rows", threads + 2, n);
    }
    fill(a, n, 3);
    fill(b, n, 5);

    double best = 0;
    double operations = 2.0 * std::pow(static_cast<double>(n), 3) * threads;
    for (int run = 0; run <= options.repeats; ++run) {
        auto start = std::chrono::steady_clock::now();
        BELAY_CHECK(run_on_threads(threads, [&](int index) {
            multiply_add(a.data(), b.data(), results[static_cast<size_t>(index)].data(), n);
        }));
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (run > 0) best = std::max(best, operations / seconds.count());
    }
    for (const auto& result : results)
        if (!row_is_right(a, b, result, n, options.repeats + 1))
            return core::system_error("the matrix product gave a wrong result: memory or CPU are broken");
    return best;
}

}  // namespace belay::kernels
