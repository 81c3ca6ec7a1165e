// Synthetic climates: random weather with rivers of moisture and cyclones at known places. They stand in for the CAM5
// simulations of DeepCAM, whose masks were made by hand-tuned detectors.
//
// A climate is a function of (seed, split, index) alone: any rank makes any sample, in any order, with the same
// bytes (identical for one build).
#pragma once

#include "bench/models/deepcam/architecture.h"
#include "bench/models/deepcam/fft2.h"
#include "bench/synthetic/random.h"

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace belay::bench::deepcam {

// What lies in a channel; those behind kPressure are weather only.
enum Channel : size_t { kMoisture, kEastWind, kNorthWind, kPressure, kMarkedChannels };
enum Class : uint8_t { kBackground, kCyclone, kRiver };

struct Point {
    double x = 0, y = 0;  // in cells; that of row y and column x has its middle at (x, y)
};
struct River {
    std::vector<Point> path;
    double width = 0, moisture = 0;
};
struct Cyclone {
    Point centre;
    double radius = 0, strength = 0;
};
struct Events {
    std::vector<River> rivers;      // one or two
    std::vector<Cyclone> cyclones;  // one to three
};

class ClimateGenerator {
  public:
    // Sides of the image without prime factors but 2 and 3; at least kMarkedChannels channels. Lengths of events are
    // in units of height / 64 cells.
    ClimateGenerator(const Shape& image, uint64_t seed);

    // What marks a climate. Rivers: a path of 30 to 60 unit steps from a random point, whose heading changes by the
    // same amount within +-0.02 rad at each step, width 1.5 to 3, moisture 2 to 3.5. Cyclones: radius 2.5 to 5,
    // strength 2 to 3.5.
    Events events(Split split, uint32_t index) const;

    // Writes values[channel][y][x] and mask[y][x]:
    //   weather: Gaussian fields with power k^-3, mean 0 and variance 1
    //   river at distance d: moisture += A exp(-d^2 / 2 w^2); class 2 where d < 1.2 w
    //   cyclone at (dx, dy): pressure -= A exp(-d^2 / 2 r^2), wind += A (-dy, dx) / r exp((1 - d^2 / r^2) / 2); class 1
    //   where d < 1.5 r, also across rivers
    void make(Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask);

  private:
    void make_weather(Split split, uint32_t index, std::span<float> values);
    void add_river(const River& river, std::span<float> values, std::span<uint8_t> mask);
    void add_cyclone(const Cyclone& cyclone, std::span<float> values, std::span<uint8_t> mask) const;

    Shape image_;
    uint64_t seed_;
    double unit_;  // cells
    Fft2 fft_;
    std::vector<double> amplitude_;  // of each wave: k^-1.5
    std::vector<std::complex<double>> waves_;
    std::vector<double> squared_distance_;  // of each cell to a river
};

}  // namespace belay::bench::deepcam
