#include "bench/models/deepcam/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::bench::deepcam {

namespace {

constexpr size_t kLanes = 16;    // sums side by side, which the compiler makes vectors of
constexpr size_t kBlock = 1024;  // values added up in float before they go into a double

double total(const std::array<float, kLanes>& lanes) {
    double sum = 0;
    for (float lane : lanes) sum += lane;
    return sum;
}

// The sum of value(i) over i < count, in a fixed order.
template <typename Value>
double sum_of(size_t count, Value value) {
    double sum = 0;
    for (size_t start = 0; start < count; start += kBlock) {
        const size_t end = std::min(count, start + kBlock);
        std::array<float, kLanes> lanes{};
        size_t i = start;
        for (; i + kLanes <= end; i += kLanes)
            for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += value(i + lane);
        for (; i < end; ++i) lanes[0] += value(i);
        sum += total(lanes);
    }
    return sum;
}

// Two sums in one pass.
template <typename First, typename Second>
std::array<double, 2> sums_of(size_t count, First first, Second second) {
    std::array<double, 2> sums{};
    for (size_t start = 0; start < count; start += kBlock) {
        const size_t end = std::min(count, start + kBlock);
        std::array<float, kLanes> a{}, b{};
        size_t i = start;
        for (; i + kLanes <= end; i += kLanes)
            for (size_t lane = 0; lane < kLanes; ++lane) {
                a[lane] += first(i + lane);
                b[lane] += second(i + lane);
            }
        for (; i < end; ++i) {
            a[0] += first(i);
            b[0] += second(i);
        }
        sums[0] += total(a);
        sums[1] += total(b);
    }
    return sums;
}

// What flows back past a rectifier. By values: a gradient that is read only where it counts would keep the compiler from
// making vectors of the loop.
float past_rectifier(float gradient, float result, float lowest) {
    return result > lowest ? gradient : 0.0F;
}

// Where the images of one channel start, for the samples of a group.
struct GroupOfChannel {
    size_t first_sample, samples, channel;
    const NormShape& shape;

    GroupOfChannel(const NormShape& whole, size_t group, size_t of_channel)
        : first_sample(group * whole.group),
          samples(std::min(whole.group, whole.samples - first_sample)),
          channel(of_channel),
          shape(whole) {}
    double count() const { return static_cast<double>(samples * shape.cells); }
    size_t start(size_t sample) const {
        return ((first_sample + sample) * shape.channels + channel) * shape.cells;
    }
};

}  // namespace

void normalize_forward(const float* in, const NormShape& shape, size_t first, size_t last,
                       const float* factors, const float* offsets, double epsilon, bool is_rectified,
                       float* out, float* means, float* variances) {
    for (size_t group = 0; group < shape.groups(); ++group)
        for (size_t channel = first; channel < last; ++channel) {
            const GroupOfChannel images(shape, group, channel);
            double sum = 0, squares = 0;
            for (size_t sample = 0; sample < images.samples; ++sample) {
                const float* values = in + images.start(sample);
                sum += sum_of(shape.cells, [=](size_t i) { return values[i]; });
            }
            const auto mean = static_cast<float>(sum / images.count());
            for (size_t sample = 0; sample < images.samples; ++sample) {
                const float* values = in + images.start(sample);
                squares +=
                    sum_of(shape.cells, [=](size_t i) { return (values[i] - mean) * (values[i] - mean); });
            }
            const double variance = squares / images.count();
            means[group * shape.channels + channel] = mean;
            variances[group * shape.channels + channel] = static_cast<float>(variance);

            const auto factor = static_cast<float>(factors[channel] / std::sqrt(variance + epsilon));
            const float offset = offsets[channel];
            const float lowest = is_rectified ? 0.0F : -HUGE_VALF;
            for (size_t sample = 0; sample < images.samples; ++sample) {
                const float* values = in + images.start(sample);
                float* __restrict results = out + images.start(sample);
                for (size_t i = 0; i < shape.cells; ++i) {
                    const float value = (values[i] - mean) * factor + offset;
                    results[i] = value < lowest ? lowest : value;  // a NaN stays one
                }
            }
        }
}

void normalize_backward(const float* in, const float* out, const float* out_gradient, const NormShape& shape,
                        size_t first, size_t last, const float* factors, double epsilon, bool is_rectified,
                        const float* means, const float* variances, float* in_gradient,
                        float* factor_gradients, float* offset_gradients) {
    const float lowest = is_rectified ? 0.0F : -HUGE_VALF;
    for (size_t channel = first; channel < last; ++channel) {
        double factor_gradient = 0, offset_gradient = 0;
        for (size_t group = 0; group < shape.groups(); ++group) {
            const GroupOfChannel images(shape, group, channel);
            const float mean = means[group * shape.channels + channel];
            const double inverse = 1 / std::sqrt(variances[group * shape.channels + channel] + epsilon);
            double sum = 0, along = 0;  // of the gradients, and of gradients times (in - mean)
            for (size_t sample = 0; sample < images.samples; ++sample) {
                const size_t start = images.start(sample);
                const float *values = in + start, *results = out + start, *gradients = out_gradient + start;
                auto flowing = [=](size_t i) { return past_rectifier(gradients[i], results[i], lowest); };
                const auto sums =
                    sums_of(shape.cells, flowing, [=](size_t i) { return flowing(i) * (values[i] - mean); });
                sum += sums[0];
                along += sums[1];
            }
            factor_gradient += along * inverse;
            offset_gradient += sum;

            const auto scale = static_cast<float>(factors[channel] * inverse);
            const auto shift = static_cast<float>(sum / images.count());
            const auto slope = static_cast<float>(along * inverse * inverse / images.count());
            for (size_t sample = 0; sample < images.samples; ++sample) {
                const size_t start = images.start(sample);
                const float *values = in + start, *results = out + start, *gradients = out_gradient + start;
                float* __restrict written = in_gradient + start;
                for (size_t i = 0; i < shape.cells; ++i)
                    written[i] = scale * (past_rectifier(gradients[i], results[i], lowest) - shift -
                                          (values[i] - mean) * slope);
            }
        }
        factor_gradients[channel] = static_cast<float>(factor_gradient);
        offset_gradients[channel] = static_cast<float>(offset_gradient);
    }
}

}  // namespace belay::bench::deepcam
