#include "kernels/blas.h"
#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/stream.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace belay::kernels {
namespace {

TEST(kernels, every_thread_runs_once) {
    std::atomic<int> sum = 0;
    ASSERT_TRUE(run_on_threads(5, [&](int index) { sum += 1 << (4 * index); }));
    EXPECT_EQ(sum, 0x11111);
}

TEST(kernels, threads_are_spread_over_the_cpus) {
    EXPECT_EQ(cpus_for_threads(4, {3, 5, 7, 9}), (std::vector{3, 5, 7, 9}));
    EXPECT_EQ(cpus_for_threads(2, {3, 5, 7, 9}), (std::vector{3, 7}));
    EXPECT_EQ(cpus_for_threads(3, {3, 5}), (std::vector{3, 5, 3}));
}

TEST(kernels, each_thread_stays_on_its_own_cpu) {
    std::vector<int> before = usable_cpus();
    ASSERT_FALSE(before.empty());
    std::vector<std::vector<int>> allowed(before.size());
    ASSERT_TRUE(run_on_threads(static_cast<int>(before.size()),
                               [&](int index) { allowed[static_cast<size_t>(index)] = usable_cpus(); }));
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(allowed[i], std::vector{before[i]});
    EXPECT_EQ(usable_cpus(), before) << "the caller is free as before";
}

// All threads are within the same lap, and what they do between laps is in none.
TEST(kernels, laps_hold_all_threads_and_nothing_else) {
    constexpr int kThreads = 3, kRuns = 4;
    Laps laps(kThreads);
    std::atomic<int> begun = 0, wrong = 0;
    ASSERT_TRUE(run_on_threads(kThreads, [&](int) {
        for (int run = 0; run < kRuns; ++run) {
            laps.begin();
            ++begun;
            laps.end();
            if (begun < kThreads * (run + 1)) ++wrong;
            if (run == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(laps.seconds().size(), size_t{kRuns});
    for (double seconds : laps.seconds()) EXPECT_GE(seconds, 0);
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

TEST(kernels, blas_multiplies_as_we_do) {
    if (find_blas() == nullptr) GTEST_SKIP() << "OpenBLAS with threads is not installed";
    EXPECT_TRUE(find_blas()->version.starts_with("OpenBLAS 0.")) << find_blas()->version;
    constexpr size_t kSize = 67;
    auto a = matrix(kSize, 7), b = matrix(kSize, 3);
    std::vector<double> ours(kSize * kSize, 1), theirs(kSize * kSize, 1);
    multiply_add(a.data(), b.data(), ours.data(), kSize);
    multiply_add(*find_blas(), a.data(), b.data(), theirs.data(), kSize);
    EXPECT_EQ(ours, theirs);
    std::vector<float> small_a(a.begin(), a.end()), small_b(b.begin(), b.end());
    std::vector<float> ours_single(kSize * kSize, 1), theirs_single(kSize * kSize, 1);
    multiply_add(small_a.data(), small_b.data(), ours_single.data(), kSize);
    multiply_add(*find_blas(), small_a.data(), small_b.data(), theirs_single.data(), kSize);
    EXPECT_EQ(ours_single, theirs_single);
    EXPECT_EQ(std::vector<double>(ours_single.begin(), ours_single.end()), ours);
}

TEST(kernels, wrong_products_are_noticed_wherever_they_are) {
    for (size_t n : {1, 2, 34}) {
        auto a = matrix(n, 7), b = matrix(n, 3);
        std::vector<double> c(n * n);
        ProductCheck check(a.data(), b.data(), n);
        multiply_add(a.data(), b.data(), c.data(), n);
        EXPECT_TRUE(check.holds(c.data()));
        EXPECT_EQ(check.holds(std::vector<double>(n * n).data()), c == std::vector<double>(n * n))
            << "a run that did nothing";
        for (size_t i = 0; i < c.size(); ++i) {
            auto broken = c;
            broken[i] += 1;
            EXPECT_FALSE(check.holds(broken.data())) << n << " " << i;
            broken[i] = std::numeric_limits<double>::quiet_NaN();
            EXPECT_FALSE(check.holds(broken.data())) << n << " " << i;
        }
    }
    auto a = matrix(34, 7), b = matrix(34, 3);
    std::vector<double> c(34 * 34);
    multiply_add(a.data(), b.data(), c.data(), 34);
    c[40] += 1;
    c[41] -= 1;
    EXPECT_FALSE(ProductCheck(a.data(), b.data(), 34).holds(c.data())) << "two that cancel in the sum";
}

TEST(kernels, rates_are_positive) {
    auto triad = measure_triad({.array_bytes = size_t{1} << 20, .threads = 2, .repeats = 2});
    ASSERT_TRUE(triad) << triad.error().message();
    EXPECT_GT(*triad, 1e6);
    for (Precision precision : {Precision::kDouble, Precision::kSingle}) {
        auto gemm = measure_gemm({.size = 67, .threads = 2, .repeats = 2, .precision = precision});
        ASSERT_TRUE(gemm) << gemm.error().message();
        EXPECT_GT(gemm->flops_per_second, 1e6);
        EXPECT_EQ(gemm->method, find_blas() ? find_blas()->version : kOwnKernel);
    }
}

TEST(kernels, options_out_of_range_are_refused) {
    EXPECT_EQ(measure_triad({.array_bytes = 8}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_triad({.threads = 5000}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_gemm({.size = 8}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(measure_gemm({.repeats = 0}).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::kernels
