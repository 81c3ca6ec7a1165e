// The layers of DimeNet++ and its loss, in the precision of their parameters. For network.cpp, and for tests of their
// derivatives in double precision (exact_network_for_tests.h), which rounding would hide.
#pragma once

#include "bench/models/oc20/basis.h"
#include "bench/models/oc20/profile.h"
#include "bench/models/oc20/training/geometry.h"
#include "bench/models/oc20/training/graph_functions.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

namespace belay::bench::oc20 {

// The spherical basis as a function of distances and cosines, whose values and slopes are known. The slopes are
// constants: what is derived a second time is by the parameters alone.
struct BasisOf : Function<BasisOf> {
    static Tensor forward(AutogradContext* context, const Tensor& distances, const Tensor&,
                          const Tensor& basis, const Tensor& by_distance, const Tensor& by_cosine,
                          const Tensor& kj) {
        context->save_for_backward({by_distance, by_cosine, kj});
        context->saved_data["edges"] = distances.size(0);
        return basis.view_as(basis);
    }
    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        const auto saved = context->get_saved_variables();
        const Tensor& gradient = gradients[0];
        tensor_list out(6);
        out[0] = AddRows::apply((gradient * saved[0]).sum(1, true), saved[2],
                                context->saved_data["edges"].toInt());
        if (context->needs_input_grad(1)) out[1] = (gradient * saved[1]).sum(1, true);
        return out;
    }
};

class DimeNet {
  public:
    // The layers' parameters, all of them in one: each [out][in] or [out].
    DimeNet(const Size& size, std::vector<Tensor> parameters)
        : size_(size), parameters_(std::move(parameters)) {}

    static std::vector<Tensor> parameters_from(const Size& size, const Tensor& values) {
        std::vector<Tensor> parameters;
        int64_t start = 0;
        auto add = [&](at::IntArrayRef shape, int64_t count) {
            parameters.push_back(
                values.narrow(0, start, count).reshape(shape).clone().set_requires_grad(true));
            start += count;
        };
        for (const Layer& layer : layers(size)) {
            add({layer.out, layer.in}, int64_t{layer.out} * layer.in);
            if (layer.has_bias) add({layer.out}, layer.out);
        }
        return parameters;
    }
    const std::vector<Tensor>& parameters() const { return parameters_; }

    struct Result {
        Tensor energies;  // [structures][1], in units of sigma
        Tensor forces;    // [atoms][3], likewise
    };
    // `derivable`: whether the forces are to be derived by the parameters.
    Result evaluate(Geometry& geometry, bool derivable) {
        at::AutoGradMode with_gradients(true);
        geometry.distances.set_requires_grad(true);
        geometry.cosines.set_requires_grad(!size_.angles_are_fixed);
        const Tensor by_atom = energies_by_atom(geometry);
        tensor_list inputs = {geometry.distances};
        if (!size_.angles_are_fixed) inputs.push_back(geometry.cosines);
        const tensor_list slopes =
            torch::autograd::grad({by_atom.sum()}, inputs, {}, /*retain_graph=*/derivable, derivable);
        return {AddRows::apply(by_atom, geometry.structure, geometry.structures),
                forces_from(geometry, slopes)};
    }

  private:
    // -dE/dx of each atom: along its edges, and across them where the angles turn.
    static Tensor forces_from(const Geometry& geometry, const tensor_list& slopes) {
        const int64_t edges = geometry.distances.size(0);
        Tensor by_edge = slopes[0] * geometry.directions;
        if (slopes.size() > 1)
            by_edge = by_edge + AddRows::apply(slopes[1] * geometry.bend_ji, geometry.ji, edges) +
                      AddRows::apply(slopes[1] * geometry.bend_kj, geometry.kj, edges);
        return AddRows::apply(by_edge, geometry.target, geometry.atoms) -
               AddRows::apply(by_edge, geometry.source, geometry.atoms);
    }

    // The layers, taken one after the other in the order of layers().
    struct Cursor {
        const Tensor& next() { return (*parameters)[place++]; }
        Tensor linear(const Tensor& x) { return at::linear(x, next()); }
        Tensor biased(const Tensor& x) {
            const Tensor& weight = next();
            return at::linear(x, weight, next());
        }
        Tensor residual(Tensor x, int count) {
            for (int i = 0; i < count; ++i) {
                const Tensor inner = swish(biased(x));
                x = x + swish(biased(inner));
            }
            return x;
        }
        const std::vector<Tensor>* parameters;
        size_t place;
    };

    Tensor radial_functions(const Tensor& distances, const Tensor& frequencies) const {
        const Envelope envelope(kEnvelopeExponent);
        const Tensor x = distances / size_.cutoff;
        const Tensor polynomial = envelope.a + x * (envelope.b + x * envelope.c);
        const Tensor factor = x.reciprocal() + x.pow(envelope.p - 1) * polynomial;
        return factor * at::sin(x * frequencies);
    }

    static Tensor output(Cursor& cursor, const Tensor& messages, const Tensor& radial,
                         const Geometry& geometry) {
        const Tensor weighted = cursor.linear(radial) * messages;
        Tensor x = AddRows::apply(weighted, geometry.target, geometry.atoms);
        x = cursor.biased(x);
        for (int i = 0; i < kOutputLayers; ++i) x = swish(cursor.biased(x));
        return cursor.linear(x);
    }

    static Tensor interaction(Cursor& cursor, const Tensor& messages, const Tensor& radial,
                              const Tensor& basis, const Geometry& geometry) {
        const Tensor radial_low = cursor.linear(radial);
        const Tensor radial_weights = cursor.linear(radial_low);
        const Tensor basis_low = cursor.linear(basis);
        const Tensor basis_weights = cursor.linear(basis_low);
        const Tensor to_j = swish(cursor.biased(messages)) * radial_weights;
        const Tensor to_i = swish(cursor.biased(messages));
        const Tensor down = swish(cursor.linear(to_j));
        const Tensor by_triplet = TakeRows::apply(down, geometry.kj) * basis_weights;
        const Tensor gathered = AddRows::apply(by_triplet, geometry.ji, messages.size(0));
        Tensor x = to_i + swish(cursor.linear(gathered));
        x = cursor.residual(x, kLayersBeforeSkip);
        x = swish(cursor.biased(x)) + messages;
        return cursor.residual(x, kLayersAfterSkip);
    }

    Tensor energies_by_atom(const Geometry& geometry) const {
        Cursor cursor{&parameters_, 0};
        const Tensor radial = radial_functions(geometry.distances, cursor.next());
        const Tensor basis =
            BasisOf::apply(geometry.distances, geometry.cosines, geometry.basis, geometry.basis_by_distance,
                           geometry.basis_by_cosine, geometry.kj);
        const Tensor atoms = TakeRows::apply(cursor.next(), geometry.numbers);
        const Tensor radial_embedding = swish(cursor.biased(radial));
        Tensor messages =
            swish(cursor.biased(at::cat({TakeRows::apply(atoms, geometry.target),
                                         TakeRows::apply(atoms, geometry.source), radial_embedding},
                                        1)));
        // The output blocks lie together before the interactions.
        Cursor outputs = cursor;
        const size_t per_output = 4 + 2 * kOutputLayers;
        cursor.place += per_output * (static_cast<size_t>(size_.blocks) + 1);
        Tensor sum = output(outputs, messages, radial, geometry);
        for (int block = 0; block < size_.blocks; ++block) {
            messages = interaction(cursor, messages, radial, basis, geometry);
            sum = sum + output(outputs, messages, radial, geometry);
        }
        return sum;
    }

    Size size_;
    std::vector<Tensor> parameters_;
};

// The mean over structures of the mean over their free atoms' components, times the loss's weight. `errors` are
// [atoms][3], in units of sigma.
inline Tensor weighted_loss(const Tensor& errors, const std::vector<double>& weights) {
    // A copy, which lives as long as what is derived from it.
    const Tensor by_atom = at::empty({errors.size(0), 1}, at::kDouble);
    std::ranges::copy(weights, by_atom.data_ptr<double>());
    return (errors.abs() * by_atom.to(errors.scalar_type())).sum() * kForceWeight;
}

}  // namespace belay::bench::oc20
