#include "bench/models/oc20/training/network.h"

#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/radial_table.h"
#include "bench/models/oc20/training/graph_functions.h"
#include "bench/train/torch_network.h"

#include <cmath>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

namespace belay::bench::oc20 {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

// What the layers need of a batch of structures.
struct Geometry {
    Tensor numbers, structure, source, target, kj, ji;  // of int64
    Tensor distances, cosines;  // by edge and triplet, in one column: what energies are derived by
    Tensor directions;          // [edges][3], of length 1, from the target to the source
    Tensor bend_ji, bend_kj;    // [triplets][3]: the cosine by the edges' vectors
    Tensor basis, basis_by_distance, basis_by_cosine;  // [triplets][functions]
    int64_t atoms = 0, structures = 0;
};

Tensor tensor_of(const std::vector<int64_t>& values) {
    Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
    std::ranges::copy(values, tensor.data_ptr<int64_t>());
    return tensor;
}

// The functions of distances and angles of a graph, as tensors of type Real.
template <typename Real>
class GeometryMaker {
  public:
    GeometryMaker(const SphericalBasis& basis, const RadialTable& table)
        : basis_(basis),
          table_(table),
          orders_(static_cast<size_t>(basis.orders())),
          functions_(orders_ * static_cast<size_t>(basis.numbers())) {}

    Geometry make(const Graph& graph) {
        Geometry out;
        out.numbers = tensor_of(graph.numbers);
        out.structure = tensor_of(graph.structure);
        out.source = tensor_of(graph.source);
        out.target = tensor_of(graph.target);
        out.kj = tensor_of(graph.kj);
        out.ji = tensor_of(graph.ji);
        out.atoms = static_cast<int64_t>(graph.atoms());
        out.structures = graph.structures;
        add_edges(graph, out);
        add_triplets(graph, out);
        return out;
    }

  private:
    static Tensor matrix(size_t rows, size_t columns) {
        return at::empty({static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                         c10::CppTypeToScalarType<Real>::value);
    }
    static Real* values_of(const Tensor& tensor) { return tensor.data_ptr<Real>(); }
    static void put(const Vector& vector, Real* out) {
        for (size_t i = 0; i < 3; ++i) out[i] = static_cast<Real>(vector[i]);
    }

    void add_edges(const Graph& graph, Geometry& out) {
        const size_t edges = graph.vectors.size();
        distances_.resize(edges);
        radial_.resize(edges * functions_);
        radial_slopes_.resize(edges * functions_);
        out.distances = matrix(edges, 1);
        out.directions = matrix(edges, 3);
        for (size_t edge = 0; edge < edges; ++edge) {
            const Vector& vector = graph.vectors[edge];
            const double distance = std::sqrt(dot(vector, vector));
            distances_[edge] = distance;
            values_of(out.distances)[edge] = static_cast<Real>(distance);
            put((1 / distance) * vector, values_of(out.directions) + 3 * edge);
            table_.at(distance, std::span(radial_).subspan(edge * functions_, functions_),
                      std::span(radial_slopes_).subspan(edge * functions_, functions_));
        }
    }

    void add_triplets(const Graph& graph, Geometry& out) {
        const size_t triplets = graph.kj.size();
        out.cosines = matrix(triplets, 1);
        out.bend_ji = matrix(triplets, 3);
        out.bend_kj = matrix(triplets, 3);
        out.basis = matrix(triplets, functions_);
        out.basis_by_distance = matrix(triplets, functions_);
        out.basis_by_cosine = matrix(triplets, functions_);
        std::vector<double> angular(orders_), angular_slopes(orders_);
        for (size_t triplet = 0; triplet < triplets; ++triplet) {
            const auto kj = static_cast<size_t>(graph.kj[triplet]),
                       ji = static_cast<size_t>(graph.ji[triplet]);
            const Bend bend = bend_of(graph.vectors[ji], graph.vectors[kj], distances_[ji], distances_[kj]);
            values_of(out.cosines)[triplet] = static_cast<Real>(bend.cosine);
            put(bend.by_ji, values_of(out.bend_ji) + 3 * triplet);
            put(bend.by_kj, values_of(out.bend_kj) + 3 * triplet);
            basis_.angular(bend.cosine, angular, angular_slopes);
            const double* radial = radial_.data() + kj * functions_;
            const double* radial_slopes = radial_slopes_.data() + kj * functions_;
            Real* value = values_of(out.basis) + triplet * functions_;
            Real* by_distance = values_of(out.basis_by_distance) + triplet * functions_;
            Real* by_cosine = values_of(out.basis_by_cosine) + triplet * functions_;
            for (size_t i = 0, per_order = functions_ / orders_; i < functions_; ++i) {
                const size_t order = i / per_order;
                value[i] = static_cast<Real>(radial[i] * angular[order]);
                by_distance[i] = static_cast<Real>(radial_slopes[i] * angular[order]);
                by_cosine[i] = static_cast<Real>(radial[i] * angular_slopes[order]);
            }
        }
    }

    const SphericalBasis& basis_;
    const RadialTable& table_;
    size_t orders_, functions_;
    std::vector<double> distances_, radial_, radial_slopes_;
};

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
Tensor weighted_loss(const Tensor& errors, const std::vector<double>& weights) {
    // A copy, which lives as long as what is derived from it.
    const Tensor by_atom = at::empty({errors.size(0), 1}, at::kDouble);
    std::ranges::copy(weights, by_atom.data_ptr<double>());
    return (errors.abs() * by_atom.to(errors.scalar_type())).sum() * kForceWeight;
}

class Oc20 : public TorchNetwork {
  public:
    Oc20(const Size& size, uint64_t seed)
        : size_(size),
          basis_(size.cutoff, size.spherical, size.radial),
          table_(basis_, size.cutoff),
          layers_(size, DimeNet::parameters_from(size, starting_values(size, seed))) {
        keep(layers_.parameters());
    }

  protected:
    Tensor forward(const Batch& batch, bool training) override {
        Graph graph;
        for_each_structure(batch.inputs, [&](std::span<const float> structure, size_t) {
            add_to(graph, structure_from(structure), size_.cutoff, size_.maximum_neighbors);
        });
        Geometry geometry = GeometryMaker<float>(basis_, table_).make(graph);
        return layers_.evaluate(geometry, training).forces * size_.force_sigma;
    }

    Tensor loss(const Tensor& predictions, const Batch& batch) override {
        return weighted_loss((predictions - view_of(batch.targets, predictions.sizes())) / size_.force_sigma,
                             force_weights(batch.inputs, batch.samples));
    }

  private:
    static Tensor starting_values(const Size& size, uint64_t seed) {
        const std::vector<float> values = starting_parameters(size, seed);
        return view_of(values, {static_cast<int64_t>(values.size())}).clone();
    }

    Size size_;
    SphericalBasis basis_;
    RadialTable table_;
    DimeNet layers_;
};

}  // namespace

std::unique_ptr<Network> make_network(const Size& size, uint64_t seed) {
    return std::make_unique<Oc20>(size, seed);
}

struct ExactNetwork::Functions {
    Size size;
    SphericalBasis basis{size.cutoff, size.spherical, size.radial};
    RadialTable table{basis, size.cutoff};
};

ExactNetwork::ExactNetwork(const Size& size) : functions_(new Functions{size}) {}
ExactNetwork::~ExactNetwork() = default;

Exact ExactNetwork::evaluate(std::span<const double> parameters,
                             std::span<const Structure> structures) const {
    const Size& size = functions_->size;
    Graph graph;
    std::vector<float> inputs, targets;
    std::vector<double> labels;
    for (const Structure& structure : structures) {
        add_to(graph, structure, size.cutoff, size.maximum_neighbors);
        append_to_batch(structure, inputs, targets);
        for (const Vector& force : structure.forces) labels.insert(labels.end(), force.begin(), force.end());
    }
    Geometry geometry = GeometryMaker<double>(functions_->basis, functions_->table).make(graph);
    const Tensor values = at::from_blob(const_cast<double*>(parameters.data()),
                                        {static_cast<int64_t>(parameters.size())}, at::kDouble);
    DimeNet layers(size, DimeNet::parameters_from(size, values));
    const auto [energies, forces] = layers.evaluate(geometry, true);
    const Tensor loss =
        weighted_loss(forces - at::from_blob(labels.data(), forces.sizes(), at::kDouble) / size.force_sigma,
                      force_weights(inputs, structures.size()));
    const tensor_list gradients = torch::autograd::grad({loss}, layers.parameters());

    Exact exact;
    for (int64_t i = 0; i < energies.size(0); ++i)
        exact.energies.push_back(energies[i].item<double>() * size.force_sigma);
    const Tensor plain = forces.detach().contiguous();
    for (int64_t i = 0; i < plain.size(0); ++i) {
        const double* force = plain.data_ptr<double>() + 3 * i;
        exact.forces.push_back(size.force_sigma * Vector{force[0], force[1], force[2]});
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
