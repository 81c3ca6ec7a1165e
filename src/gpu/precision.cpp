#include "gpu/precision.h"

#include <cmath>

namespace belay::gpu {

namespace {

constexpr double kRatioSteps = 1e4;
constexpr double kWattSteps = 10;
constexpr double kLeastRounded = 1e4;  // B/s; below, four digits are whole numbers

double four_digits(double value) {
    if (std::abs(value) < kLeastRounded) return std::round(value);
    const double step = std::pow(10, std::floor(std::log10(std::abs(value))) - 3);
    return std::round(value / step) * step;
}

}  // namespace

double recorded(const Field& field, double value) {
    if (!std::isfinite(value)) return value;
    if (field.unit == "ratio") return std::round(value * kRatioSteps) / kRatioSteps;
    if (field.unit == "W") return std::round(value * kWattSteps) / kWattSteps;
    if (field.unit == "B/s") return four_digits(value);
    return value;
}

}  // namespace belay::gpu
