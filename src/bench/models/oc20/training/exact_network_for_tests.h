// For tests: what the network computes in double precision, so that derivatives can be compared with differences.
#pragma once

#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/structure.h"
#include "bench/models/oc20/training/dimenet.h"

#include <span>
#include <vector>

namespace belay::bench::oc20 {

// All but the parameters' gradients in eV and Å.
struct Exact {
    std::vector<double> energies;  // by structure
    std::vector<Vector> forces;    // by atom, over all structures
    double loss = 0;
    std::vector<double> gradients;  // of the loss, by parameter
};

class ExactNetwork {
  public:
    explicit ExactNetwork(const Size& size) : size_(size) {}
    Exact evaluate(std::span<const double> parameters, std::span<const Structure> structures) const;

  private:
    Size size_;
    SphericalBasis basis_{size_.cutoff, size_.spherical, size_.radial};
    RadialTable table_{basis_, size_.cutoff};
};

inline Exact ExactNetwork::evaluate(std::span<const double> parameters,
                                    std::span<const Structure> structures) const {
    Graph graph;
    std::vector<float> inputs, targets;
    std::vector<double> labels;
    for (const Structure& structure : structures) {
        add_to(graph, structure, size_.cutoff, size_.maximum_neighbors);
        append_to_batch(structure, inputs, targets);
        for (const Vector& force : structure.forces) labels.insert(labels.end(), force.begin(), force.end());
    }
    Geometry geometry = GeometryMaker<double>(basis_, table_).make(graph);
    const Tensor values = at::from_blob(const_cast<double*>(parameters.data()),
                                        {static_cast<int64_t>(parameters.size())}, at::kDouble);
    DimeNet layers(size_, DimeNet::parameters_from(size_, values));
    const auto [energies, forces] = layers.evaluate(geometry, true);
    const Tensor loss =
        weighted_loss(forces - at::from_blob(labels.data(), forces.sizes(), at::kDouble) / size_.force_sigma,
                      force_weights(inputs, structures.size()));
    const tensor_list gradients = torch::autograd::grad({loss}, layers.parameters());

    Exact exact;
    for (int64_t i = 0; i < energies.size(0); ++i)
        exact.energies.push_back(energies[i].item<double>() * size_.force_sigma);
    const Tensor plain = forces.detach().contiguous();
    for (int64_t i = 0; i < plain.size(0); ++i) {
        const double* force = plain.data_ptr<double>() + 3 * i;
        exact.forces.push_back(size_.force_sigma * Vector{force[0], force[1], force[2]});
    }
    exact.loss = loss.item<double>();
    for (const Tensor& gradient : gradients) {
        const Tensor flat = gradient.contiguous();
        exact.gradients.insert(exact.gradients.end(), flat.data_ptr<double>(),
                               flat.data_ptr<double>() + flat.numel());
    }
    return exact;
}

}  // namespace belay::bench::oc20
