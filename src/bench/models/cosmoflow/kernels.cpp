#include "bench/models/cosmoflow/kernels.h"

#include <cmath>
#include <limits>
#include <vector>

namespace belay::bench::cosmoflow {

namespace {

constexpr uint8_t kNegative = 8;

struct Best {
    std::vector<float> value;
    std::vector<uint8_t> place;
};

// The largest of four rows, column by column; `place` gets y in bit 1 and z in bit 2. A NaN wins, as in
// libtorch.
void largest_of_rows(const float* const rows[4], size_t side, Best& best) {
    float* value = best.value.data();
    uint8_t* place = best.place.data();
    for (size_t x = 0; x < side; ++x) {
        value[x] = rows[0][x];
        place[x] = 0;
    }
    for (uint8_t row = 1; row < 4; ++row) {
        const float* candidates = rows[row];
        auto mark = static_cast<uint8_t>(row << 1);
        for (size_t x = 0; x < side; ++x) {
            bool larger = candidates[x] > value[x] || candidates[x] != candidates[x];  // NaN
            value[x] = larger ? candidates[x] : value[x];
            place[x] = larger ? mark : place[x];
        }
    }
}

}  // namespace

void log_counts(std::span<const int16_t> counts, float* out) {
    static const std::vector<float> table = [] {
        std::vector<float> logarithms(std::numeric_limits<int16_t>::max() + 1);
        for (size_t count = 0; count < logarithms.size(); ++count)
            logarithms[count] = static_cast<float>(std::log1p(static_cast<double>(count)));
        return logarithms;
    }();
    for (size_t i = 0; i < counts.size(); ++i)
        out[i] = counts[i] > 0 ? table[static_cast<size_t>(counts[i])] : 0.0F;
}

void pool_forward(const float* in, size_t pairs, size_t side, float slope, float* out, uint8_t* chosen) {
    const size_t half = side / 2;
    Best best{std::vector<float>(side), std::vector<uint8_t>(side)};
    for (size_t plane = 0; plane < pairs; ++plane)
        for (size_t y = 0; y < half; ++y) {
            const float* first = in + (2 * plane * side + 2 * y) * side;
            const float* const rows[4] = {first, first + side, first + side * side,
                                          first + side * side + side};
            largest_of_rows(rows, side, best);
            for (size_t x = 0; x < half; ++x, ++out, ++chosen) {
                float left_value = best.value[2 * x];
                float right_value = best.value[2 * x + 1];
                bool right = right_value > left_value || std::isnan(right_value);
                float value = right ? right_value : left_value;
                auto place = static_cast<uint8_t>(best.place[2 * x + right] | right);
                bool negative = value < 0;
                *out = negative ? value * slope : value;
                *chosen = negative ? place | kNegative : place;
            }
        }
}

void pool_backward(const float* out_gradient, const uint8_t* chosen, size_t pairs, size_t side, float slope,
                   float* in_gradient) {
    const size_t half = side / 2;
    for (size_t plane = 0; plane < pairs; ++plane)
        for (size_t y = 0; y < half; ++y, out_gradient += half, chosen += half) {
            float* first = in_gradient + (2 * plane * side + 2 * y) * side;
            for (uint8_t row = 0; row < 4; ++row) {
                float* gradient = first + (row & 1 ? side : 0) + (row & 2 ? side * side : 0);
                for (size_t x = 0; x < half; ++x) {
                    float flowing = chosen[x] & kNegative ? out_gradient[x] * slope : out_gradient[x];
                    int place = chosen[x] & 7;
                    gradient[2 * x] = place == row << 1 ? flowing : 0.0F;
                    gradient[2 * x + 1] = place == (row << 1 | 1) ? flowing : 0.0F;
                }
            }
        }
}

}  // namespace belay::bench::cosmoflow
