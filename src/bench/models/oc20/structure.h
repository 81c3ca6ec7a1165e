// Atoms in a periodic cell, with the forces that act on them: one sample.
#pragma once

#include "core/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::bench::oc20 {

using Vector = std::array<double, 3>;

struct Structure {
    std::array<Vector, 3> cell{};   // the lattice's vectors, Å
    std::vector<uint8_t> numbers;   // of elements
    std::vector<uint8_t> fixed;     // 1: held in its place, neither trained on nor judged
    std::vector<Vector> positions;  // Å
    std::vector<Vector> forces;     // eV/Å
    double energy = 0;              // eV

    size_t atoms() const { return numbers.size(); }
    bool operator==(const Structure&) const = default;
};

// The largest structure that is read; OC20's has 225 atoms.
inline constexpr size_t kMaximumAtoms = 4096;

// Whether a network can take it: up to kMaximumAtoms atoms, as many of everything, finite numbers, elements that have a row in the
// embedding, and a cell that is not so flat that a sphere of `cutoff` has hundreds of its images. Errors:
// kBadInput.
core::Result<> check_structure(const Structure& structure, double cutoff);

inline Vector operator+(const Vector& a, const Vector& b) {
    return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
inline Vector operator-(const Vector& a, const Vector& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Vector operator*(double s, const Vector& a) {
    return {s * a[0], s * a[1], s * a[2]};
}
inline double dot(const Vector& a, const Vector& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

}  // namespace belay::bench::oc20
