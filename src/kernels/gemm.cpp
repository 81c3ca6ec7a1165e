#include "kernels/gemm.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <random>
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
void fill(std::vector<double>& matrix, size_t factor) {
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i * factor % 7) - 3;
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

ProductCheck::ProductCheck(const double* a, const double* b, size_t n) : weights_(n), sums_(n) {
    std::mt19937_64 random(n);
    for (double& weight : weights_) weight = static_cast<double>(1 + random() % 1024);
    std::vector<double> middle(n);
    for (size_t row = 0; row < n; ++row)
        middle[row] = std::inner_product(weights_.begin(), weights_.end(), b + row * n, 0.0);
    for (size_t row = 0; row < n; ++row)
        sums_[row] = std::inner_product(middle.begin(), middle.end(), a + row * n, 0.0);
}

bool ProductCheck::holds(const double* c, int times) const {
    size_t n = weights_.size();
    for (size_t row = 0; row < n; ++row)
        if (std::inner_product(weights_.begin(), weights_.end(), c + row * n, 0.0) != times * sums_[row])
            return false;
    return true;
}

Result<double> measure_gemm(const GemmOptions& options) {
    size_t n = options.size;
    if (n < 16 || n > 8192) return bad_input("matrices of {} rows: 16 to 8192 are possible", n);
    if (options.threads < 0 || options.threads > 1024)
        return bad_input("{} threads: 1 to 1024 are possible", options.threads);
    if (options.repeats < 1 || options.repeats > 1000)
        return bad_input("{} repeats: 1 to 1000 are possible", options.repeats);
    int threads = options.threads == 0 ? static_cast<int>(usable_cpus().size()) : options.threads;

    // The results are not initialised here, so that each is placed where its thread runs.
    std::vector<double> a, b;
    std::vector<std::unique_ptr<double[]>> results(static_cast<size_t>(threads));
    std::optional<ProductCheck> check;
    try {
        a.resize(n * n);
        b.resize(n * n);
        fill(a, 3);
        fill(b, 5);
        check.emplace(a.data(), b.data(), n);
        for (auto& result : results) result.reset(new double[n * n]);
    } catch (const std::bad_alloc&) {
        return core::system_error("no memory for {} matrices of {} rows", threads + 2, n)
            .because_of_errno(ENOMEM);
    }

    Laps laps(threads);
    std::atomic<bool> right = true;
    BELAY_CHECK(run_on_threads(threads, [&](int index) {
        double* c = results[static_cast<size_t>(index)].get();
        std::fill_n(c, n * n, 0.0);
        for (int run = 0; run <= options.repeats; ++run) {
            laps.begin();
            multiply_add(a.data(), b.data(), c, n);
            laps.end();
            if (!check->holds(c, run + 1)) right = false;
        }
    }));
    if (!right) return core::system_error("the matrix product gave a wrong result: memory or CPU are broken");
    std::vector<double> seconds = laps.seconds();
    double fastest = *std::min_element(seconds.begin() + 1, seconds.end());
    return 2.0 * std::pow(static_cast<double>(n), 3) * threads / fastest;
}

}  // namespace belay::kernels
