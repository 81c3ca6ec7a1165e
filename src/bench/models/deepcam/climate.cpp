#include "bench/models/deepcam/climate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace belay::bench::deepcam {

namespace {

// Streams of a sample. Part of the bytes of the data set: never renumber. Weather counts from kFirstWeatherStream, two
// channels each.
constexpr uint32_t kEventStream = 0;
constexpr uint32_t kFirstWeatherStream = 1;

constexpr double kHeightOfUnits = 64;
constexpr double kReach = 5;  // widths or radii behind which an event adds nothing: exp(-12.5)

double between(RandomStream& random, double low, double high) {
    return low + (high - low) * random.next_uniform();
}

// The cells of a line within `reach` of a place: first and one behind the last.
std::pair<int, int> cells_around(double place, double reach, int count) {
    return {std::clamp(static_cast<int>(std::ceil(place - reach)), 0, count),
            std::clamp(static_cast<int>(std::floor(place + reach)) + 1, 0, count)};
}

template <typename Visit>
void for_cells_around(const Point& place, double reach, const Shape& image, Visit visit) {
    const auto [top, bottom] = cells_around(place.y, reach, image.height);
    const auto [left, right] = cells_around(place.x, reach, image.width);
    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x)
            visit(static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x),
                  x - place.x, y - place.y);
}

// Mean 0, variance 1.
template <typename Part>
void write_standardized(std::span<const std::complex<double>> waves, Part part, float* out) {
    double sum = 0, squares = 0;
    for (const auto& wave : waves) sum += part(wave);
    const auto count = static_cast<double>(waves.size());
    const double mean = sum / count;
    for (const auto& wave : waves) squares += (part(wave) - mean) * (part(wave) - mean);
    const double factor = 1 / std::sqrt(squares / count);
    for (const auto& wave : waves) *out++ = static_cast<float>((part(wave) - mean) * factor);
}

}  // namespace

ClimateGenerator::ClimateGenerator(const Shape& image, uint64_t seed)
    : image_(image),
      seed_(seed),
      unit_(image.height / kHeightOfUnits),
      fft_(static_cast<size_t>(image.height), static_cast<size_t>(image.width)),
      amplitude_(static_cast<size_t>(image.cells())),
      waves_(amplitude_.size()),
      squared_distance_(amplitude_.size()) {
    // In waves per cell.
    auto frequency = [](size_t j, int count) {
        return static_cast<double>(std::min(j, static_cast<size_t>(count) - j)) / count;
    };
    const auto width = static_cast<size_t>(image.width);
    for (size_t cell = 1; cell < amplitude_.size(); ++cell)  // the first is the mean
        amplitude_[cell] = std::pow(
            std::hypot(frequency(cell % width, image.width), frequency(cell / width, image.height)), -1.5);
}

Events ClimateGenerator::events(Split split, uint32_t index) const {
    RandomStream random(seed_, split, index, kEventStream);
    auto point = [&] {
        const double x = random.next_uniform() * image_.width, y = random.next_uniform() * image_.height;
        return Point{x - 0.5, y - 0.5};
    };
    Events events;
    events.rivers.resize(1 + random.next_below(2));
    for (River& river : events.rivers) {
        river.path.resize(30 + random.next_below(31) + 1);
        river.path[0] = point();
        double heading = between(random, 0, 2 * std::numbers::pi);
        const double turn = between(random, -0.02, 0.02);
        for (size_t i = 1; i < river.path.size(); ++i, heading += turn)
            river.path[i] = {river.path[i - 1].x + unit_ * std::cos(heading),
                             river.path[i - 1].y + unit_ * std::sin(heading)};
        river.width = unit_ * between(random, 1.5, 3);
        river.moisture = between(random, 2, 3.5);
    }
    events.cyclones.resize(1 + random.next_below(3));
    for (Cyclone& cyclone : events.cyclones) {
        cyclone.centre = point();
        cyclone.radius = unit_ * between(random, 2.5, 5);
        cyclone.strength = between(random, 2, 3.5);
    }
    return events;
}

void ClimateGenerator::make(Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask) {
    make_weather(split, index, values);
    std::ranges::fill(mask, kBackground);
    const Events all = events(split, index);
    for (const River& river : all.rivers) add_river(river, values, mask);
    for (const Cyclone& cyclone : all.cyclones) add_cyclone(cyclone, values, mask);
}

// Real and imaginary part of transformed complex noise are two independent fields: one transform makes two channels.
void ClimateGenerator::make_weather(Split split, uint32_t index, std::span<float> values) {
    const size_t cells = waves_.size();
    const auto channels = static_cast<size_t>(image_.channels);
    for (size_t channel = 0; channel < channels; channel += 2) {
        RandomStream random(seed_, split, index, kFirstWeatherStream + static_cast<uint32_t>(channel / 2));
        for (size_t cell = 0; cell < cells; ++cell) {
            const auto [real, imaginary] = random.next_gaussians();
            waves_[cell] = {real * amplitude_[cell], imaginary * amplitude_[cell]};
        }
        fft_.inverse(waves_);
        write_standardized(
            waves_, [](const auto& wave) { return wave.real(); }, values.data() + channel * cells);
        if (channel + 1 < channels)
            write_standardized(
                waves_, [](const auto& wave) { return wave.imag(); }, values.data() + (channel + 1) * cells);
    }
}

void ClimateGenerator::add_river(const River& river, std::span<float> values, std::span<uint8_t> mask) {
    std::ranges::fill(squared_distance_, std::numeric_limits<double>::infinity());
    for (const Point& point : river.path)
        for_cells_around(point, kReach * river.width, image_, [&](size_t cell, double x, double y) {
            squared_distance_[cell] = std::min(squared_distance_[cell], x * x + y * y);
        });
    float* moisture = values.data() + kMoisture * squared_distance_.size();
    const double squared_width = river.width * river.width;
    for (size_t cell = 0; cell < squared_distance_.size(); ++cell) {
        const double squared = squared_distance_[cell] / squared_width;
        if (squared > kReach * kReach) continue;
        moisture[cell] += static_cast<float>(river.moisture * std::exp(-0.5 * squared));
        if (squared < 1.2 * 1.2) mask[cell] = kRiver;
    }
}

void ClimateGenerator::add_cyclone(const Cyclone& cyclone, std::span<float> values,
                                   std::span<uint8_t> mask) const {
    const size_t cells = mask.size();
    float *east = values.data() + kEastWind * cells, *north = values.data() + kNorthWind * cells,
          *pressure = values.data() + kPressure * cells;
    const double radius = cyclone.radius;
    for_cells_around(cyclone.centre, kReach * radius, image_, [&](size_t cell, double x, double y) {
        const double squared = (x * x + y * y) / (radius * radius);
        pressure[cell] -= static_cast<float>(cyclone.strength * std::exp(-0.5 * squared));
        const double wind = cyclone.strength / radius * std::exp(0.5 * (1 - squared));
        east[cell] -= static_cast<float>(wind * y);
        north[cell] += static_cast<float>(wind * x);
        if (squared < 1.5 * 1.5) mask[cell] = kCyclone;
    });
}

}  // namespace belay::bench::deepcam
