#include "bench/models/deepcam/kernels.h"

#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

constexpr double kTinyEpsilon = 1e-5;
constexpr NormShape kNorm = {.samples = 4, .channels = 3, .cells = 37, .group = 2};
const std::vector<float> kFactors = {0.5F, 1.5F, -2}, kOffsets = {0.1F, -0.3F, 0};

std::vector<float> random_values(size_t count, uint32_t stream) {
    RandomStream random(2, Split::kTrain, 0, stream);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(1 + 2 * random.next_gaussians().first);
    return values;
}

struct Normalized {
    std::vector<float> out, means, variances;
};

Normalized normalize(const std::vector<float>& in, const NormShape& shape, bool is_rectified) {
    const size_t statistics = shape.groups() * shape.channels;
    Normalized result{std::vector<float>(in.size()), std::vector<float>(statistics),
                      std::vector<float>(statistics)};
    normalize_forward(in.data(), shape, 0, shape.channels, kFactors.data(), kOffsets.data(), kTinyEpsilon,
                      is_rectified, result.out.data(), result.means.data(), result.variances.data());
    return result;
}

struct Gradients {
    std::vector<float> in, factors, offsets;
};

Gradients gradients(const std::vector<float>& in, const Normalized& result, const std::vector<float>& flowing,
                    const NormShape& shape, bool is_rectified) {
    Gradients found{std::vector<float>(in.size(), 99), std::vector<float>(3), std::vector<float>(3)};
    normalize_backward(in.data(), result.out.data(), flowing.data(), shape, 0, shape.channels,
                       kFactors.data(), kTinyEpsilon, is_rectified, result.means.data(),
                       result.variances.data(), found.in.data(), found.factors.data(), found.offsets.data());
    return found;
}

TEST(bench_deepcam, norm_gives_each_channel_of_a_group_its_mean_and_variance) {
    const size_t cells = 2500;  // more than one block of a sum, and not a multiple of the lanes
    const NormShape shape{.samples = 5, .channels = 3, .cells = cells, .group = 2};
    const auto in = random_values(5 * 3 * cells, 1);
    const Normalized result = normalize(in, shape, false);
    for (size_t group = 0; group < shape.groups(); ++group)
        for (size_t channel = 0; channel < 3; ++channel) {
            double sum = 0, squares = 0, count = 0;
            for (size_t sample = 2 * group; sample < std::min<size_t>(5, 2 * group + 2); ++sample)
                for (size_t i = 0; i < cells; ++i, ++count) {
                    const double value = result.out[(sample * 3 + channel) * cells + i];
                    sum += value;
                    squares += value * value;
                }
            const double mean = sum / count;
            EXPECT_NEAR(mean, kOffsets[channel], 1e-5);
            EXPECT_NEAR(squares / count - mean * mean, kFactors[channel] * kFactors[channel], 1e-4);
        }
}

TEST(bench_deepcam, norm_of_a_group_does_not_depend_on_what_else_is_in_the_batch) {
    const auto in = random_values(4 * 3 * 37, 1);
    const Normalized all = normalize(in, kNorm, true);
    NormShape half = kNorm;
    half.samples = 2;
    const std::vector<float> behind(in.begin() + 2 * 3 * 37, in.end());
    const Normalized last = normalize(behind, half, true);
    EXPECT_TRUE(std::equal(last.out.begin(), last.out.end(), all.out.begin() + 2 * 3 * 37));
}

TEST(bench_deepcam, norm_rectifies) {
    const auto in = random_values(4 * 3 * 37, 1);
    const Normalized plain = normalize(in, kNorm, false), rectified = normalize(in, kNorm, true);
    for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(rectified.out[i], std::max(plain.out[i], 0.0F));
}

// Differences of the loss sum(flowing * out) along each input and parameter.
TEST(bench_deepcam, norm_gradient_is_the_slope) {
    for (bool is_rectified : {false, true}) {
        const auto in = random_values(4 * 3 * 37, 1), flowing = random_values(4 * 3 * 37, 2);
        const Gradients found =
            gradients(in, normalize(in, kNorm, is_rectified), flowing, kNorm, is_rectified);
        auto loss = [&](const std::vector<float>& at) {
            const Normalized result = normalize(at, kNorm, is_rectified);
            double sum = 0;
            for (size_t i = 0; i < at.size(); ++i) sum += double{flowing[i]} * result.out[i];
            return sum;
        };
        for (size_t i : {0U, 50U, 112U, 300U, 443U}) {
            auto above = in, below = in;
            above[i] += 0.01F;
            below[i] -= 0.01F;
            EXPECT_NEAR((loss(above) - loss(below)) / 0.02, found.in[i], 0.02) << i << is_rectified;
        }
        const Normalized result = normalize(in, kNorm, is_rectified);
        for (size_t channel = 0; channel < 3; ++channel) {
            double by_offset = 0, by_factor = 0;
            for (size_t sample = 0; sample < 4; ++sample)
                for (size_t i = 0; i < 37; ++i) {
                    const size_t place = (sample * 3 + channel) * 37 + i;
                    if (is_rectified && result.out[place] <= 0) continue;
                    by_offset += flowing[place];
                    by_factor += flowing[place] * (result.out[place] - kOffsets[channel]) / kFactors[channel];
                }
            EXPECT_NEAR(found.offsets[channel], by_offset, 1e-3);
            EXPECT_NEAR(found.factors[channel], by_factor, 1e-3);
        }
    }
}

}  // namespace
}  // namespace belay::bench::deepcam
