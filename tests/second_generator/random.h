// Numbers that look random and follow from a seed alone, on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace belay::second_generator {

// splitmix64 (Steele, Lea and Flood 2014).
inline uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// In [0, 1): noise that belongs to a place (a rank, a step), whatever else was drawn. So a run with a fault
// and the same run without it have the same noise.
inline double hashed(uint64_t a, uint64_t b = 0, uint64_t c = 0) {
    const uint64_t bits = mixed(mixed(mixed(a) ^ b) ^ (c * 0x9e3779b97f4a7c15));
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// Mean 0, deviation 1; the sum of four uniform numbers is near enough and has no far tails.
inline double hashed_normal(uint64_t a, uint64_t b = 0, uint64_t c = 0) {
    const uint64_t bits = mixed(mixed(mixed(a) ^ b) ^ (c * 0x9e3779b97f4a7c15));
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xffff) / 65536.0;
    return (sum - 2) * std::numbers::sqrt3;
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(mixed(seed)) {}

    uint64_t bits() { return mixed(state_++); }
    double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
    double uniform(double from, double to) { return from + (to - from) * unit(); }
    // As often in each decade.
    double by_decade(double from, double to) { return from * std::pow(to / from, unit()); }
    // Both ends included.
    int whole(int from, int to) {
        return from + static_cast<int>(bits() % static_cast<uint64_t>(to - from + 1));
    }
    bool chance(double probability) { return unit() < probability; }
    template <typename T>
    T pick(std::initializer_list<T> of) {
        return of.begin()[bits() % of.size()];
    }

  private:
    uint64_t state_;
};

}  // namespace belay::second_generator
