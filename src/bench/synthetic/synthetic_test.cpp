#include "bench/synthetic/fft.h"
#include "bench/synthetic/philox.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

// The vectors of Random123's kat_vectors, "philox4x32 10".
TEST(bench, philox_known_answers) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
              (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr uint32_t kOnes = 0xffffffff;
    EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<uint32_t> first_words(RandomStream random) {
    std::vector<uint32_t> words(9);
    for (uint32_t& word : words) word = random.next_word();
    return words;
}

TEST(bench, random_streams_differ_in_every_part_of_their_name) {
    auto words = first_words({1, Split::kTrain, 2, 3});
    EXPECT_EQ(words, first_words({1, Split::kTrain, 2, 3}));
    EXPECT_NE(words, first_words({2, Split::kTrain, 2, 3}));
    EXPECT_NE(words, first_words({1 + (uint64_t{1} << 32), Split::kTrain, 2, 3}));
    EXPECT_NE(words, first_words({1, Split::kEval, 2, 3}));
    EXPECT_NE(words, first_words({1, Split::kTrain, 3, 3}));
    EXPECT_NE(words, first_words({1, Split::kTrain, 2, 4}));
}

TEST(bench, random_below_is_even_and_in_range) {
    RandomStream random(5, Split::kOrder, 0, 0);
    std::vector<int> seen(6);
    for (int i = 0; i < 60000; ++i) {
        uint32_t value = random.next_below(6);
        ASSERT_LT(value, 6u);
        ++seen[value];
    }
    for (int count : seen) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 5.0 / 6));
    for (int i = 0; i < 100; ++i) EXPECT_LT(random.next_below(0x80000001), 0x80000001);
    EXPECT_EQ(random.next_below(1), 0u);
}

struct Moments {
    double mean = 0, variance = 0;
};

template <typename Draw>
Moments moments(int count, Draw draw) {
    std::vector<double> values(count);
    Moments result;
    for (double& value : values) result.mean += value = draw();
    result.mean /= count;
    for (double value : values) result.variance += (value - result.mean) * (value - result.mean);
    result.variance /= count;
    return result;
}

TEST(bench, random_gaussians_have_mean_zero_and_variance_one) {
    RandomStream random(1, Split::kTrain, 0, 0);
    int tails = 0;
    Moments seen = moments(200'000, [&] {
        auto [a, b] = random.next_gaussians();
        tails += std::fabs(a) > 2;
        return (a + b) / std::sqrt(2);
    });
    EXPECT_NEAR(seen.mean, 0, 5 / std::sqrt(200'000));
    EXPECT_NEAR(seen.variance, 1, 5 * std::sqrt(2.0 / 200'000));
    EXPECT_NEAR(tails / 200'000.0, 0.0455, 0.0025);
}

// Both methods, on both sides of the limit between them.
TEST(bench, random_poisson_has_its_mean_as_variance) {
    RandomStream random(1, Split::kTrain, 0, 1);
    for (double mean : {0.05, 1.0, 4.0, 11.9, 12.1, 40.0, 2500.0}) {
        constexpr int kDraws = 100'000;
        Moments seen = moments(kDraws, [&] { return static_cast<double>(random.next_poisson(mean)); });
        EXPECT_NEAR(seen.mean, mean, 5 * std::sqrt(mean / kDraws)) << mean;
        EXPECT_NEAR(seen.variance, mean, 5 * std::sqrt((mean + 2 * mean * mean) / kDraws)) << mean;
    }
    EXPECT_EQ(random.next_poisson(0), 0);
}

TEST(bench, random_poisson_by_rejection_follows_the_distribution) {
    RandomStream random(2, Split::kTrain, 0, 0);
    constexpr double kMean = 14;
    constexpr int kDraws = 200'000;
    std::vector<int> seen(60);
    for (int i = 0; i < kDraws; ++i) ++seen[std::min<int64_t>(random.next_poisson(kMean), 59)];
    double probability = std::exp(-kMean);
    for (int k = 0; k < 59; probability *= kMean / ++k) {
        double expected = kDraws * probability;
        EXPECT_NEAR(seen[k], expected, 5 * std::sqrt(expected) + 2) << k;
    }
}

std::vector<std::complex<double>> random_cube(size_t side) {
    std::vector<std::complex<double>> cube(side * side * side);
    RandomStream random(9, Split::kTrain, 0, 0);
    for (auto& value : cube) value = {random.next_uniform() - 0.5, random.next_uniform() - 0.5};
    return cube;
}

TEST(bench, fft_equals_the_sum_it_stands_for) {
    for (size_t side : {2, 4, 8}) {
        auto cube = random_cube(side);
        auto fast = cube;
        Fft3(side).forward(fast);
        for (size_t k = 0; k < cube.size(); ++k) {
            std::complex<double> sum = 0;
            for (size_t x = 0; x < cube.size(); ++x) {
                size_t product = (k % side) * (x % side) + (k / side % side) * (x / side % side) +
                                 (k / side / side) * (x / side / side);
                sum += cube[x] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(product % side) /
                                                     static_cast<double>(side));
            }
            ASSERT_NEAR(std::abs(fast[k] - sum), 0, 1e-12) << side << " " << k;
        }
    }
}

TEST(bench, fft_inverse_undoes_forward) {
    auto cube = random_cube(32);
    auto there_and_back = cube;
    Fft3 fft(32);
    fft.forward(there_and_back);
    EXPECT_GT(std::abs(there_and_back[1] - cube[1]), 1e-3);
    fft.inverse(there_and_back);
    for (size_t i = 0; i < cube.size(); ++i) ASSERT_NEAR(std::abs(there_and_back[i] - cube[i]), 0, 1e-13);
}

}  // namespace
}  // namespace belay::bench
