// The potential that generated structures obey: pairs of atoms within 4 Å, attracted to a distance that depends on
// their species, smoothly switched off. It stands in for the quantum mechanics of OC20, so that a network that
// gives the forces back has truly learned.
#pragma once

#include "bench/models/oc20/structure.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace belay::bench::oc20 {

inline constexpr std::array<uint8_t, 3> kSpecies = {1, 6, 8};  // H, C and O: of what adsorbates are made
inline constexpr double kSwitchOn = 3, kPotentialCutoff = 4;   // Å

// s(r) D [(1 - exp(-alpha (r - r_0)))^2 - 1] of two atoms of the species a and b (places in kSpecies), with
// s = (1 + cos(pi (r - 3) / (4 - 3))) / 2 between 3 and 4 Å, 1 below and 0 above; and its derivative by r.
struct Pair {
    double energy = 0, slope = 0;
};
Pair pair_at(size_t a, size_t b, double r);

// Sets energy and forces, F = -dE/dx in closed form. The cell is a cube of at least 8 Å: each pair acts once, by
// its nearest images. `species` has the places in kSpecies; both results are divided by `unit`.
void apply_morse(Structure& structure, const std::vector<uint8_t>& species, double unit);

}  // namespace belay::bench::oc20
