#include "bench/models/cosmoflow/universe.h"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

constexpr size_t kSide = 32;
constexpr size_t kCells = kSide * kSide * kSide;

struct Universe {
    std::vector<int16_t> counts;
    Parameters parameters;
};

Universe make(UniverseGenerator& generator, Split split, uint32_t index) {
    Universe universe{std::vector<int16_t>(generator.values_per_universe()), {}};
    universe.parameters = generator.make(split, index, universe.counts);
    return universe;
}

double mean_count(const Universe& universe, size_t channel) {
    auto first = universe.counts.begin() + channel * kCells;
    return std::accumulate(first, first + kCells, 0.0) / kCells;
}

double variance_of_counts(const Universe& universe, size_t channel) {
    double mean = mean_count(universe, channel), sum = 0;
    for (size_t cell = 0; cell < kCells; ++cell) {
        double difference = universe.counts[channel * kCells + cell] - mean;
        sum += difference * difference;
    }
    return sum / kCells;
}

TEST(bench, universe_is_the_same_in_any_order) {
    UniverseGenerator forwards(kSide, 7), backwards(kSide, 7);
    std::vector<Universe> first, second(3);
    for (uint32_t index : {0, 1, 2}) first.push_back(make(forwards, Split::kTrain, index));
    for (uint32_t index : {2, 1, 0}) second[index] = make(backwards, Split::kTrain, index);
    for (int index : {0, 1, 2}) {
        EXPECT_EQ(first[index].counts, second[index].counts);
        EXPECT_EQ(first[index].parameters, second[index].parameters);
        EXPECT_EQ(first[index].parameters, forwards.parameters(Split::kTrain, index));
    }
    EXPECT_NE(first[0].counts, first[1].counts);
    EXPECT_NE(first[0].counts, make(forwards, Split::kEval, 0).counts);
    UniverseGenerator other(kSide, 8);
    EXPECT_NE(first[0].counts, make(other, Split::kTrain, 0).counts);
}

TEST(bench, universe_parameters_are_even_over_their_range) {
    UniverseGenerator generator(2, 1);
    std::array<double, kParameters> sum{}, squares{};
    for (uint32_t index = 0; index < 3000; ++index) {
        Parameters parameters = generator.parameters(Split::kTrain, index);
        for (size_t i = 0; i < kParameters; ++i) {
            ASSERT_LE(std::fabs(parameters[i]), 1);
            sum[i] += parameters[i];
            squares[i] += parameters[i] * parameters[i];
        }
    }
    for (size_t i = 0; i < kParameters; ++i) {
        EXPECT_NEAR(sum[i] / 3000, 0, 0.06);
        EXPECT_NEAR(squares[i] / 3000, 1.0 / 3, 0.03);
    }
}

TEST(bench, universe_field_is_real_and_has_the_stated_variance) {
    UniverseGenerator generator(kSide, 3);
    for (uint32_t index = 0; index < 4; ++index) {
        Universe universe = make(generator, Split::kTrain, index);
        double sigma = 0.8 + 0.3 * universe.parameters[0], sum = 0, squares = 0;
        for (const auto& value : generator.field()) {
            ASSERT_NEAR(value.imag(), 0, 1e-12);
            sum += value.real();
            squares += value.real() * value.real();
        }
        EXPECT_NEAR(sum / kCells, 0, 1e-12);
        EXPECT_NEAR(squares / kCells, sigma * sigma, 1e-12);
    }
}

// The average over universes of the power at each wave number must fall as k^n exp(-(k/k_c)^2): here the
// ratio between two shells, which the normalisation leaves as it is.
TEST(bench, universe_power_spectrum_has_the_stated_slope) {
    UniverseGenerator generator(kSide, 11);
    Fft3 fft(kSide);
    double log_ratio = 0, expected = 0;
    constexpr int kUniverses = 24;
    for (uint32_t index = 0; index < kUniverses; ++index) {
        Parameters parameters = make(generator, Split::kTrain, index).parameters;
        std::vector<std::complex<double>> modes(generator.field().begin(), generator.field().end());
        fft.forward(modes);
        double power[2] = {}, count[2] = {};
        for (size_t cell = 0; cell < kCells; ++cell) {
            auto wave = [](size_t j) { return static_cast<double>(std::min(j, kSide - j)); };
            double x = wave(cell % kSide), y = wave(cell / kSide % kSide), z = wave(cell / kSide / kSide);
            double squared = x * x + y * y + z * z;
            if (squared != 9 && squared != 81) continue;
            power[squared == 81] += std::norm(modes[cell]);
            ++count[squared == 81];
        }
        log_ratio += std::log(power[1] / count[1] / (power[0] / count[0]));
        double step = 2 * M_PI / kSide, cutoff = 0.7 * M_PI;
        expected += (-2 + 1.2 * parameters[1]) * std::log(3.0) - (81 - 9) * step * step / cutoff / cutoff;
    }
    EXPECT_NEAR(log_ratio / kUniverses, expected / kUniverses, 0.15);
}

TEST(bench, universe_counts_have_the_stated_mean_and_scatter) {
    UniverseGenerator generator(kSide, 5);
    for (size_t channel = 0; channel < kChannels; ++channel) {
        double ratio = 0, scatter = 0;
        constexpr int kUniverses = 32;
        for (uint32_t index = 0; index < kUniverses; ++index) {
            Universe universe = make(generator, Split::kEval, index);
            auto [amplitude, slope, density, growth] = universe.parameters;
            double mean = 4 * std::exp2(density);
            ratio += mean_count(universe, channel) / mean;
            // Poisson noise on a log-normal field: variance = mean + mean^2 (exp(s^2) - 1).
            double s = (0.8 + 0.3 * amplitude) *
                       std::exp(-0.5 * (1 + 0.8 * growth) * static_cast<double>(channel) / 3);
            scatter += variance_of_counts(universe, channel) / (mean + mean * mean * std::expm1(s * s));
        }
        EXPECT_NEAR(ratio / kUniverses, 1, 0.03) << channel;
        EXPECT_NEAR(scatter / kUniverses, 1, 0.15) << channel;
    }
}

}  // namespace
}  // namespace belay::bench::cosmoflow
