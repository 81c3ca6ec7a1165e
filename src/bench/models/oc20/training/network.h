// DimeNet++ with forces. The library behind it (libtorch) stays in network.cpp.
//
// Source: Gasteiger, Giri, Margraf, Günnemann, "Fast and uncertainty-aware directional message passing for
// non-equilibrium molecules", 2020; in the form of MLPerf HPC (mlcommons/hpc, open_catalyst).
#pragma once

#include "bench/models/oc20/profile.h"
#include "bench/models/oc20/structure.h"
#include "bench/train/model.h"

#include <memory>
#include <span>
#include <vector>

namespace belay::bench::oc20 {

// Of batches as layout.h lays them out; predicts forces in eV/Å. Trained on the mean absolute error of forces in
// units of the profile's sigma, times kForceWeight: over the components of a structure's free atoms, then over
// structures. Weights are drawn from `seed`.
std::unique_ptr<Network> make_network(const Size& size, uint64_t seed);

// What the same layers compute in double precision, for tests of derivatives, which rounding would hide. All but
// the parameters' gradients in eV and Å.
struct Exact {
    std::vector<double> energies;  // by structure
    std::vector<Vector> forces;    // by atom, over all structures
    double loss = 0;
    std::vector<double> gradients;  // of the loss, by parameter
};
class ExactNetwork {
  public:
    explicit ExactNetwork(const Size& size);
    ~ExactNetwork();
    Exact evaluate(std::span<const double> parameters, std::span<const Structure> structures) const;

  private:
    struct Functions;
    std::unique_ptr<const Functions> functions_;
};

}  // namespace belay::bench::oc20
