#include "bench/models/oc20/structure.h"

#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/profile.h"

#include <algorithm>
#include <cmath>

namespace belay::bench::oc20 {

using core::bad_input;

namespace {

// Cells of OC20 are at least 5 Å wide: by images_within(), a sphere of the cutoff of 6 Å then has one on each side.
constexpr int kMaximumImages = 8;

bool are_finite(const std::vector<Vector>& vectors) {
    return std::ranges::all_of(vectors, [](const Vector& vector) {
        return std::ranges::all_of(
            vector, [](double value) { return std::isfinite(value) && std::fabs(value) < 1e6; });
    });
}

}  // namespace

core::Result<> check_structure(const Structure& structure, double cutoff) {
    const size_t atoms = structure.atoms();
    if (atoms == 0 || atoms > kMaximumAtoms)
        return bad_input("it has {} atoms; a structure has 1 to {}", atoms, kMaximumAtoms);
    if (structure.positions.size() != atoms || structure.forces.size() != atoms ||
        structure.fixed.size() != atoms)
        return bad_input("it has {} atoms, but {} positions, {} forces and {} marks of fixed atoms", atoms,
                         structure.positions.size(), structure.forces.size(), structure.fixed.size());
    for (uint8_t number : structure.numbers)
        if (number == 0 || number >= kElements)
            return bad_input("it has an atom of element {}; the network knows elements 1 to {}", number,
                             kElements - 1);
    if (!are_finite(structure.positions) || !are_finite(structure.forces))
        return bad_input("it has a position or a force that is not a number, or is above a million");
    if (!are_finite({structure.cell.begin(), structure.cell.end()}))
        return bad_input("its cell has a length that is not a number, or is above a million");
    for (double images : images_within(structure.cell, cutoff))
        if (!(images <= kMaximumImages))
            return bad_input("its cell is flat or far smaller than the cutoff of {} Å", cutoff);
    return {};
}

}  // namespace belay::bench::oc20
