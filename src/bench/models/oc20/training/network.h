// DimeNet++ with forces. The library behind it (libtorch) stays in network.cpp.
//
// Source: Gasteiger, Giri, Margraf, Günnemann, "Fast and uncertainty-aware directional message passing for
// non-equilibrium molecules", 2020; in the form of MLPerf HPC (mlcommons/hpc, open_catalyst).
#pragma once

#include "bench/models/oc20/profile.h"
#include "bench/train/model.h"

#include <cstdint>
#include <memory>

namespace belay::bench::oc20 {

// Of batches as layout.h lays them out; predicts forces in eV/Å. Trained on the mean absolute error of forces in
// units of the profile's sigma, times kForceWeight: over the components of a structure's free atoms, then over
// structures. Weights are drawn from `seed`.
std::unique_ptr<Network> make_network(const Size& size, uint64_t seed);

}  // namespace belay::bench::oc20
