#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/stream.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace belay::kernels {
namespace {

TEST(kernels, every_thread_runs_once) {
    std::atomic<int> sum = 0;
    ASSERT_TRUE(run_on_threads(5, [&](int index) { sum += 1 << (4 * index); }));
    EXPECT_EQ(sum, 0x11111);
    EXPECT_GE(usable_cpus(), 1);
}

// Whole numbers, so that every order of adding gives the same.
std::vector<double> matrix(size_t n, size_t factor) {
    std::vector<double> out(n * n);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(i * factor % 11) - 5;
    return out;
}

// Whole tiles, rests of rows and columns, and more depth than one block.
TEST(kernels, product_is_the_plain_sum) {
    for (size_t n : {1, 3, 8, 13, 33, 64, 261}) {
        auto a = matrix(n, 7), b = matrix(n, 3), wanted = matrix(n, 2);
        auto fast = wanted, portable = wanted;
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j)
                for (size_t k = 0; k < n; ++k) wanted[i * n + j] += a[i * n + k] * b[k * n + j];
        multiply_add(a.data(), b.data(), fast.data(), n);
        multiply_add_portable(a.data(), b.data(), portable.data(), n);
        EXPECT_EQ(fast, wanted) << n;
        EXPECT_EQ(portable, wanted) << n;
    }
}

TEST(kernels, rates_are_positive) {
    auto triad = measure_triad({.array_bytes = size_t{1} << 20, .threads = 2, .repeats = 2});
    ASSERT_TRUE(triad) << triad.error().message();
    EXPECT_GT(*triad, 1e6);
    auto gemm = measure_gemm({.size = 67, .threads = 2, .repeats = 2});
    ASSERT_TRUE(gemm) << gemm.error().message();
    EXPECT_GT(*gemm, 1e6);
}

TEST(kernels, options_out_of_range_are_refused) {
    EXPECT_EQ(measure_triad({.array_bytes = 8}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_triad({.threads = 5000}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_gemm({.size = 8}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_gemm({.repeats = 0}).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::kernels
