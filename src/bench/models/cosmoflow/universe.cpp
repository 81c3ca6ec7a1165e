#include "bench/models/cosmoflow/universe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace belay::bench::cosmoflow {

namespace {

// Streams of a sample. Part of the bytes of the data set: never renumber. Channel c counts from
// kFirstChannelStream + c.
constexpr uint32_t kParameterStream = 0;
constexpr uint32_t kNoiseStream = 1;
constexpr uint32_t kFirstChannelStream = 2;

constexpr double kMeanCount = 4;
constexpr double kCutoff = 0.7 * std::numbers::pi;  // radians per cell

}  // namespace

UniverseGenerator::UniverseGenerator(size_t side, uint64_t seed)
    : side_(side),
      seed_(seed),
      fft_(side),
      squared_wave_number_(side * side * side),
      field_(side * side * side) {
    auto squared = [&](size_t j) {
        size_t wave_number = std::min(j, side - j);
        return wave_number * wave_number;
    };
    for (size_t cell = 0; cell < field_.size(); ++cell)
        squared_wave_number_[cell] = static_cast<uint16_t>(
            squared(cell % side) + squared(cell / side % side) + squared(cell / side / side));
    amplitude_.resize(3 * (side / 2) * (side / 2) + 1);
}

Parameters UniverseGenerator::parameters(Split split, uint32_t index) const {
    RandomStream random(seed_, split, index, kParameterStream);
    Parameters parameters;
    for (float& parameter : parameters) parameter = static_cast<float>(2 * random.next_uniform() - 1);
    return parameters;
}

void UniverseGenerator::make_field(RandomStream random, double slope, double sigma) {
    for (size_t cell = 0; cell < field_.size(); cell += 2) {
        auto [first, second] = random.next_gaussians();
        field_[cell] = first;
        field_[cell + 1] = second;
    }
    const double index = -2 + 1.2 * slope;
    const double step = 2 * std::numbers::pi / static_cast<double>(side_);
    amplitude_[0] = 0;  // the mean
    for (size_t squared = 1; squared < amplitude_.size(); ++squared) {
        double k = step * std::sqrt(static_cast<double>(squared));
        amplitude_[squared] = std::exp(0.5 * (index * std::log(k) - (k / kCutoff) * (k / kCutoff)));
    }
    fft_.forward(field_);
    for (size_t cell = 0; cell < field_.size(); ++cell)
        field_[cell] *= amplitude_[squared_wave_number_[cell]];
    fft_.inverse(field_);

    double sum_of_squares = 0;
    for (const auto& value : field_) sum_of_squares += value.real() * value.real();
    double factor = sigma / std::sqrt(sum_of_squares / static_cast<double>(field_.size()));
    for (auto& value : field_) value *= factor;
}

Parameters UniverseGenerator::make(Split split, uint32_t index, std::span<int16_t> counts) {
    Parameters drawn = parameters(split, index);
    const auto [amplitude, slope, density, growth] = drawn;
    const double sigma = 0.8 + 0.3 * amplitude;
    make_field(RandomStream(seed_, split, index, kNoiseStream), slope, sigma);

    const double mean = kMeanCount * std::exp2(static_cast<double>(density));
    for (uint32_t channel = 0; channel < kChannels; ++channel) {
        RandomStream random(seed_, split, index, kFirstChannelStream + channel);
        const double contrast = std::exp(-0.5 * (1 + 0.8 * growth) * channel / 3);
        const double offset = 0.5 * contrast * contrast * sigma * sigma;  // keeps the mean of exp() at 1
        int16_t* out = counts.data() + channel * field_.size();
        for (size_t cell = 0; cell < field_.size(); ++cell) {
            int64_t count = random.next_poisson(mean * std::exp(contrast * field_[cell].real() - offset));
            out[cell] = static_cast<int16_t>(std::min<int64_t>(count, std::numeric_limits<int16_t>::max()));
        }
    }
    return drawn;
}

}  // namespace belay::bench::cosmoflow
