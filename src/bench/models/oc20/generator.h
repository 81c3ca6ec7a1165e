// Generated structures: atoms of three species on some sites of a lattice, each moved a little, and what the
// potential of morse.h does to them. A structure is a function of (seed, split, index) alone: any rank makes any
// sample, in any order, with the same bytes.
#pragma once

#include "bench/models/oc20/profile.h"
#include "bench/models/oc20/structure.h"
#include "bench/synthetic/random.h"

#include <cstdint>

namespace belay::bench::oc20 {

// Energies and forces are given in units that make the standard deviation of a force's component 1, as OC20's
// labels are divided by theirs: it is this many eV/Å on free atoms of the mini profile (tested).
inline constexpr double kGeneratedForceUnit = 1.026;

// With `size.fewest_atoms` to `size.most_atoms` atoms on `size.sites`^3 sites, 8/3 Å apart, each coordinate moved by
// up to 0.4 Å; the first fifth of the atoms is fixed.
Structure make_structure(const Size& size, uint64_t seed, Split split, uint32_t index);

// The mean of what graphs of the first structures have; for the count of operations.
Extent typical_extent(const Size& size);

}  // namespace belay::bench::oc20
