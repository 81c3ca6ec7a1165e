#include "bench/models/oc20/morse.h"

#include <cmath>
#include <numbers>

namespace belay::bench::oc20 {

namespace {

using Table = std::array<std::array<double, kSpecies.size()>, kSpecies.size()>;
constexpr double kSteepness = 1.5;  // 1/Å
constexpr Table kDepth = {{{0.3, 0.5, 0.7}, {0.5, 0.6, 0.8}, {0.7, 0.8, 1.0}}};
constexpr Table kLength = {{{1.8, 2.0, 2.2}, {2.0, 2.2, 2.4}, {2.2, 2.4, 2.6}}};  // Å

Pair switch_at(double r) {
    if (r < kSwitchOn) return {.energy = 1, .slope = 0};
    constexpr double kRate = std::numbers::pi / (kPotentialCutoff - kSwitchOn);
    const double angle = kRate * (r - kSwitchOn);
    return {.energy = 0.5 * (1 + std::cos(angle)), .slope = -0.5 * kRate * std::sin(angle)};
}

Vector nearest_image(Vector difference, double side) {
    for (double& coordinate : difference) coordinate -= side * std::round(coordinate / side);
    return difference;
}

}  // namespace

Pair pair_at(size_t a, size_t b, double r) {
    if (r >= kPotentialCutoff) return {};
    const double decay = std::exp(-kSteepness * (r - kLength[a][b])), rest = 1 - decay;
    const double energy = kDepth[a][b] * (rest * rest - 1);
    const double slope = kDepth[a][b] * 2 * kSteepness * rest * decay;
    const Pair on = switch_at(r);
    return {.energy = on.energy * energy, .slope = on.energy * slope + on.slope * energy};
}

void apply_morse(Structure& structure, const std::vector<uint8_t>& species, double unit) {
    const double side = structure.cell[0][0];
    structure.energy = 0;
    structure.forces.assign(structure.atoms(), Vector{});
    for (size_t i = 0; i < structure.atoms(); ++i)
        for (size_t j = i + 1; j < structure.atoms(); ++j) {
            const Vector difference = nearest_image(structure.positions[j] - structure.positions[i], side);
            const double r = std::sqrt(dot(difference, difference));
            const Pair pair = pair_at(species[i], species[j], r);
            structure.energy += pair.energy / unit;
            const Vector pull =
                (pair.slope / r / unit) * difference;  // on i, towards j where the energy rises
            structure.forces[i] = structure.forces[i] + pull;
            structure.forces[j] = structure.forces[j] - pull;
        }
}

}  // namespace belay::bench::oc20
