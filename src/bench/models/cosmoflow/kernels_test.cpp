#include "bench/models/cosmoflow/kernels.h"

#include "bench/synthetic/random.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

constexpr size_t kVolumes = 3, kSide = 6, kHalf = 3;
constexpr float kSlope = 0.25F;

size_t at(size_t volume, size_t z, size_t y, size_t x, size_t side) {
    return ((volume * side + z) * side + y) * side + x;
}

template <typename Visit>
void for_each_block(Visit visit) {
    for (size_t v = 0; v < kVolumes; ++v)
        for (size_t z = 0; z < kHalf; ++z)
            for (size_t y = 0; y < kHalf; ++y)
                for (size_t x = 0; x < kHalf; ++x) {
                    std::vector<size_t> cells;
                    for (size_t i = 0; i < 8; ++i)
                        cells.push_back(
                            at(v, 2 * z + (i >> 2), 2 * y + (i >> 1 & 1), 2 * x + (i & 1), kSide));
                    visit(at(v, z, y, x, kHalf), cells);
                }
}

TEST(bench, pooling_takes_the_largest_of_each_block_and_sends_the_gradient_there) {
    RandomStream random(1, Split::kTrain, 0, 0);
    std::vector<float> in(kVolumes * kSide * kSide * kSide);
    for (float& value : in)
        value = static_cast<float>(random.next_gaussians().first) - 1;  // maxima of both signs
    size_t outputs = in.size() / 8;
    std::vector<float> out(outputs), out_gradient(outputs), in_gradient(in.size(), 99.0F);
    std::vector<uint8_t> chosen(outputs);
    pool_forward(in.data(), kVolumes * kHalf, kSide, kSlope, out.data(), chosen.data());
    for (size_t i = 0; i < outputs; ++i) out_gradient[i] = static_cast<float>(i) + 1;
    pool_backward(out_gradient.data(), chosen.data(), kVolumes * kHalf, kSide, kSlope, in_gradient.data());

    int negative = 0;
    for_each_block([&](size_t output, const std::vector<size_t>& cells) {
        size_t largest = cells[0];
        for (size_t cell : cells)
            if (in[cell] > in[largest]) largest = cell;
        float factor = in[largest] < 0 ? kSlope : 1;
        negative += in[largest] < 0;
        EXPECT_EQ(out[output], in[largest] * factor);
        for (size_t cell : cells)
            EXPECT_EQ(in_gradient[cell], cell == largest ? out_gradient[output] * factor : 0) << cell;
    });
    EXPECT_GT(negative, 5);
    EXPECT_LT(negative, static_cast<int>(outputs) - 5);
}

TEST(bench, pooling_passes_nan_on) {
    std::vector<float> in(8, 1.0F), out(1);
    std::vector<uint8_t> chosen(1);
    for (size_t place = 0; place < 8; ++place) {
        in.assign(8, 1.0F);
        in[place] = std::numeric_limits<float>::quiet_NaN();
        pool_forward(in.data(), 1, 2, kSlope, out.data(), chosen.data());
        EXPECT_TRUE(std::isnan(out[0])) << place;
    }
}

TEST(bench, counts_become_their_logarithms) {
    std::vector<int16_t> counts = {0, 1, 9, 32767, -3};
    std::vector<float> out(counts.size());
    log_counts(counts, out.data());
    EXPECT_FLOAT_EQ(out[0], 0);
    EXPECT_FLOAT_EQ(out[1], std::log(2.0F));
    EXPECT_FLOAT_EQ(out[2], std::log(10.0F));
    EXPECT_FLOAT_EQ(out[3], std::log(32768.0F));
    EXPECT_FLOAT_EQ(out[4], 0);
}

}  // namespace
}  // namespace belay::bench::cosmoflow
