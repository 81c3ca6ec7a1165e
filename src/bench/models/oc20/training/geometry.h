// The distances and angles of a graph, with the functions of them, as libtorch's tensors. For dimenet.h only.
#pragma once

#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/radial_table.h"

#include <ATen/Functions.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace belay::bench::oc20 {

using at::Tensor;

// What the layers need of a batch of structures.
struct Geometry {
    Tensor numbers, structure, source, target, kj, ji;  // of int64
    Tensor distances, cosines;  // by edge and triplet, in one column: what energies are derived by
    Tensor directions;          // [edges][3], of length 1, from the target to the source
    Tensor bend_ji, bend_kj;    // [triplets][3]: the cosine by the edges' vectors
    Tensor basis, basis_by_distance, basis_by_cosine;  // [triplets][functions]
    int64_t atoms = 0, structures = 0;
};

inline Tensor tensor_of(const std::vector<int64_t>& values) {
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

}  // namespace belay::bench::oc20
