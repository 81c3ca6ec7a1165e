// What a training run of OC20 is: sizes, schedule and target, as data, and the layers of DimeNet++ that follow
// from them. The full profile is the MLPerf HPC reference; the mini profile keeps its layers, loss and metric at
// a size that one CPU trains in minutes.
#pragma once

#include "bench/schedule/profile.h"
#include "core/error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench::oc20 {

// What is OC20's own in a profile.
struct Size {
    bench::Profile run;
    int hidden = 0;                 // of a message
    int output = 0;                 // of an atom, in the output blocks
    int blocks = 0;                 // interactions
    int interaction = 0;            // of a message while triplets act on it
    int basis = 0;                  // to which the basis functions are reduced before they act
    int spherical = 0;              // orders of angular functions
    int radial = 0;                 // functions of the distance
    double cutoff = 0;              // Å
    int maximum_neighbors = 0;      // of an atom, the nearest ones
    double force_sigma = 1;         // eV/Å; labels are divided by it
    bool angles_are_fixed = false;  // when forces are derived from the energy
    // Of generated structures: a lattice of sites^3, some of which hold atoms.
    int sites = 0;
    int fewest_atoms = 0, most_atoms = 0;
};

inline constexpr int kEnvelopeExponent = 5;
inline constexpr int kLayersBeforeSkip = 1;
inline constexpr int kLayersAfterSkip = 2;
inline constexpr int kOutputLayers = 3;
inline constexpr int kElements = 95;  // rows of the embedding, by atomic number
inline constexpr double kForceWeight = 50;

std::span<const Size> sizes();

// Errors: kBadInput, with the nearest name.
core::Result<Size> size_named(std::string_view name);

// How a layer's weights start (torch_geometric, models/dimenet.py and inits.py).
enum class Start {
    kFrequencies,          // n pi
    kEmbedding,            // even over +-sqrt(3)
    kUniform,              // weights and biases even over +-1/sqrt(in), as libtorch's linear layers
    kOrthogonal,           // orthogonal, of the variance 2 / (in + out); biases 0
    kOrthogonalAndBiases,  // likewise, with biases as in kUniform
    kZero,
};
// What a layer is applied to.
enum class Rows { kNone, kAtoms, kEdges, kTriplets };

struct Layer {
    std::string name;  // as in the reference's state_dict, without ".weight" and ".bias"
    int out = 0, in = 0;
    bool has_bias = false;
    Start start = Start::kOrthogonal;
    Rows rows = Rows::kNone;  // kNone: no multiplications
    int64_t parameters() const { return int64_t{out} * in + (has_bias ? out : 0); }
};

// In the order in which the parameters lie: a layer's weights [out][in], then its biases.
std::vector<Layer> layers(const Size& size);

int64_t parameter_count(const Size& size);

// How large a structure is.
struct Extent {
    double atoms = 0, edges = 0, triplets = 0;
};
// Floating-point operations of training on one structure: multiplications and additions of the linear layers. A
// layer is used six times: forward; backward to the distances and angles, which gives the forces; and in the
// backward pass of both, two times each, once for its inputs and once for its weights.
double flops_of(const Size& size, const Extent& extent);

// The weights and biases that a network starts with, drawn from `seed`.
std::vector<float> starting_parameters(const Size& size, uint64_t seed);

}  // namespace belay::bench::oc20
