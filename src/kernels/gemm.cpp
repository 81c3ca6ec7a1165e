#include "kernels/gemm.h"

#include "kernels/blas.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
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

constexpr size_t kMostRows = 16384;  // with OpenBLAS: 2 GiB a matrix of doubles

// A tile of the result stays in registers: 4 rows of 2 vectors of 32 bytes. The compiler splits vectors that
// are wider than the CPU's.
constexpr size_t kTileRows = 4, kVectorBytes = 32;
constexpr size_t kDepth = 256;  // kDepth × two vectors of b (16 KiB) stay in the first cache

template <typename T>
struct Tile {
    typedef T Vector __attribute__((vector_size(kVectorBytes)));
    static constexpr size_t kVector = kVectorBytes / sizeof(T), kColumns = 2 * kVector;
};

// kTileRows × kColumns of c from `depth` columns of a; b is packed as depth rows of kColumns.
template <typename T>
inline __attribute__((always_inline)) void multiply_tile(const T* a, const T* packed, T* c, size_t n,
                                                         size_t depth) {
    constexpr size_t kVector = Tile<T>::kVector, kColumns = Tile<T>::kColumns;
    typename Tile<T>::Vector sum[kTileRows][2] = {};
    for (size_t k = 0; k < depth; ++k) {
        typename Tile<T>::Vector left, right;
        std::memcpy(&left, packed + k * kColumns, sizeof left);
        std::memcpy(&right, packed + k * kColumns + kVector, sizeof right);
        for (size_t row = 0; row < kTileRows; ++row) {
            T scale = a[row * n + k];
            sum[row][0] += scale * left;
            sum[row][1] += scale * right;
        }
    }
    for (size_t row = 0; row < kTileRows; ++row)
        for (size_t column = 0; column < kColumns; ++column)
            c[row * n + column] += sum[row][column / kVector][column % kVector];
}

// What no whole tile covers.
template <typename T>
inline __attribute__((always_inline)) void multiply_rest(const T* a, const T* b, T* c, size_t n,
                                                         size_t first_row, size_t first_column) {
    for (size_t row = 0; row < n; ++row)
        for (size_t column = row < first_row ? first_column : 0; column < n; ++column) {
            T sum = 0;
            for (size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
            c[row * n + column] += sum;
        }
}

template <typename T>
inline __attribute__((always_inline)) void multiply_blocks(const T* a, const T* b, T* c, size_t n) {
    constexpr size_t kColumns = Tile<T>::kColumns;
    alignas(64) T packed[kDepth * kColumns];
    size_t rows = n / kTileRows * kTileRows, columns = n / kColumns * kColumns;
    for (size_t k = 0; k < n; k += kDepth) {
        size_t depth = std::min(kDepth, n - k);
        for (size_t column = 0; column < columns; column += kColumns) {
            for (size_t i = 0; i < depth; ++i)
                std::memcpy(packed + i * kColumns, b + (k + i) * n + column, kColumns * sizeof(T));
            for (size_t row = 0; row < rows; row += kTileRows)
                multiply_tile(a + row * n + k, packed, c + row * n + column, n, depth);
        }
    }
    multiply_rest(a, b, c, n, rows, columns);
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx2,fma"))) void multiply_add_avx2(const T* a, const T* b, T* c, size_t n) {
    multiply_blocks(a, b, c, n);
}
#endif

// Small whole numbers, whose products and sums are exact whatever the order.
template <typename T>
void fill(std::vector<T>& matrix, size_t factor) {
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<T>(i * factor % 7) - 3;
}

Result<> check_options(const GemmOptions& options) {
    if (options.size < 16 || options.size > 8192)
        return bad_input("matrices of {} rows: 16 to 8192 are possible", options.size);
    if (options.threads < 0 || options.threads > 1024)
        return bad_input("{} threads: 1 to 1024 are possible", options.threads);
    if (options.repeats < 1 || options.repeats > 1000)
        return bad_input("{} repeats: 1 to 1000 are possible", options.repeats);
    return {};
}

Result<GemmRate> rate_of(const std::vector<double>& seconds, size_t n, int products, std::string method,
                         int threads) {
    const double fastest = *std::min_element(seconds.begin() + 1, seconds.end());
    return GemmRate{2.0 * std::pow(static_cast<double>(n), 3) * products / fastest, std::move(method),
                    threads};
}

core::Failure no_memory(int matrices, size_t n) {
    return core::system_error("no memory for {} matrices of {} rows", matrices, n).because_of_errno(ENOMEM);
}

core::Failure wrong_result() {
    return core::system_error("the matrix product gave a wrong result: memory or CPU are broken");
}

// a, b, and what checks their product.
template <typename T>
struct Factors {
    std::vector<T> a, b;
    std::optional<ProductCheck> check;
    explicit Factors(size_t n) : a(n * n), b(n * n) {
        fill(a, 3);
        fill(b, 5);
        check.emplace(a.data(), b.data(), n);
    }
};

// One product by all threads of the library, larger for more of them, so that each has as much to do.
template <typename T>
Result<GemmRate> measure_blas(const Blas& blas, const GemmOptions& options, int wanted) {
    blas.set_threads(wanted);
    const int threads = std::max(1, blas.threads());
    const auto scaled = static_cast<size_t>(static_cast<double>(options.size) * std::sqrt(threads));
    const size_t n = std::min(scaled, kMostRows);
    std::vector<double> seconds;
    try {
        const Factors<T> factors(n);
        std::vector<T> c(n * n);
        for (int run = 0; run <= options.repeats; ++run) {
            std::ranges::fill(c, T{0});
            const auto start = std::chrono::steady_clock::now();
            multiply_add(blas, factors.a.data(), factors.b.data(), c.data(), n);
            seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            if (!factors.check->holds(c.data())) return wrong_result();
        }
    } catch (const std::bad_alloc&) {
        return no_memory(3, n);
    }
    return rate_of(seconds, n, 1, blas.version, threads);
}

// A product of its own by each thread.
template <typename T>
Result<GemmRate> measure_own(const GemmOptions& options, int threads) {
    const size_t n = options.size;
    // The results are not initialised here, so that each is placed where its thread runs.
    std::optional<Factors<T>> factors;
    std::vector<std::unique_ptr<T[]>> results(static_cast<size_t>(threads));
    try {
        factors.emplace(n);
        for (auto& result : results) result.reset(new T[n * n]);
    } catch (const std::bad_alloc&) {
        return no_memory(threads + 2, n);
    }
    Laps laps(threads);
    std::atomic<bool> right = true;
    BELAY_CHECK(run_on_threads(threads, [&](int index) {
        T* c = results[static_cast<size_t>(index)].get();
        for (int run = 0; run <= options.repeats; ++run) {
            std::fill_n(c, n * n, T{0});
            laps.begin();
            multiply_add(factors->a.data(), factors->b.data(), c, n);
            laps.end();
            if (!factors->check->holds(c)) right = false;
        }
    }));
    if (!right) return wrong_result();
    return rate_of(laps.seconds(), n, threads, kOwnKernel, threads);
}

template <typename T>
Result<GemmRate> measure(const GemmOptions& options) {
    const int threads = options.threads == 0 ? static_cast<int>(usable_cpus().size()) : options.threads;
    const Blas* blas = find_blas();
    return blas != nullptr ? measure_blas<T>(*blas, options, threads) : measure_own<T>(options, threads);
}

}  // namespace

template <typename T>
void multiply_add_portable(const T* a, const T* b, T* c, size_t n) {
    multiply_blocks(a, b, c, n);
}

template <typename T>
void multiply_add(const T* a, const T* b, T* c, size_t n) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_add_avx2(a, b, c, n);
#endif
    multiply_add_portable(a, b, c, n);
}

template <typename T>
ProductCheck::ProductCheck(const T* a, const T* b, size_t n) : weights_(n), sums_(n) {
    std::mt19937_64 random(n);
    for (double& weight : weights_) weight = static_cast<double>(1 + random() % 1024);
    std::vector<double> middle(n);
    for (size_t row = 0; row < n; ++row)
        middle[row] = std::inner_product(weights_.begin(), weights_.end(), b + row * n, 0.0);
    for (size_t row = 0; row < n; ++row)
        sums_[row] = std::inner_product(middle.begin(), middle.end(), a + row * n, 0.0);
}

template <typename T>
bool ProductCheck::holds(const T* c) const {
    size_t n = weights_.size();
    for (size_t row = 0; row < n; ++row)
        if (std::inner_product(weights_.begin(), weights_.end(), c + row * n, 0.0) != sums_[row])
            return false;
    return true;
}

#define BELAY_GEMM_OF(T)                                                 \
    template void multiply_add(const T*, const T*, T*, size_t);          \
    template void multiply_add_portable(const T*, const T*, T*, size_t); \
    template ProductCheck::ProductCheck(const T*, const T*, size_t);     \
    template bool ProductCheck::holds(const T*) const;
BELAY_GEMM_OF(double)
BELAY_GEMM_OF(float)
#undef BELAY_GEMM_OF

Result<GemmRate> measure_gemm(const GemmOptions& options) {
    BELAY_CHECK(check_options(options));
    return options.precision == Precision::kDouble ? measure<double>(options) : measure<float>(options);
}

}  // namespace belay::kernels
