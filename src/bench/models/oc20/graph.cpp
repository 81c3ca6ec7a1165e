#include "bench/models/oc20/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace belay::bench::oc20 {

namespace {

constexpr double kLeastSquare = 1e-4;  // Å^2

using Image = std::array<int, 3>;

struct Edge {
    size_t source = 0;
    Image image{};  // of the source
    Vector vector{};
    double square = 0;
};

// A lattice, and which coordinates a vector has in it.
struct Lattice {
    explicit Lattice(const std::array<Vector, 3>& cell) : vectors(cell) {
        const double volume = dot(cell[0], cross(cell[1], cell[2]));
        for (size_t axis = 0; axis < 3; ++axis)
            reciprocal[axis] = (1 / volume) * cross(cell[(axis + 1) % 3], cell[(axis + 2) % 3]);
    }
    Vector shift(const Image& image) const {
        return image[0] * vectors[0] + image[1] * vectors[1] + image[2] * vectors[2];
    }

    std::array<Vector, 3> vectors, reciprocal;
};

// All images of atom `source` within the cutoff, where `difference` leads to the one in its own cell.
void find_images(const Lattice& lattice, const Image& reach, size_t source, const Vector& difference,
                 double cutoff, std::vector<Edge>& found) {
    Image nearest{};
    for (size_t axis = 0; axis < 3; ++axis)
        nearest[axis] = -static_cast<int>(std::lround(dot(difference, lattice.reciprocal[axis])));
    for (int x = -reach[0]; x <= reach[0]; ++x)
        for (int y = -reach[1]; y <= reach[1]; ++y)
            for (int z = -reach[2]; z <= reach[2]; ++z) {
                const Image image = {nearest[0] + x, nearest[1] + y, nearest[2] + z};
                const Vector vector = difference + lattice.shift(image);
                const double square = dot(vector, vector);
                if (square <= cutoff * cutoff && square > kLeastSquare)
                    found.push_back({.source = source, .image = image, .vector = vector, .square = square});
            }
}

void keep_nearest(std::vector<Edge>& edges, int count) {
    const auto limit = static_cast<size_t>(count);
    if (edges.size() <= limit) return;
    std::ranges::stable_sort(edges, {}, &Edge::square);
    edges.resize(limit);
}

}  // namespace

std::array<double, 3> images_within(const std::array<Vector, 3>& cell, double cutoff) {
    std::array<double, 3> images{};
    for (size_t axis = 0; axis < 3; ++axis) {
        const Vector across = cross(cell[(axis + 1) % 3], cell[(axis + 2) % 3]);
        const double height = std::fabs(dot(cell[axis], across)) / std::sqrt(dot(across, across));
        images[axis] =
            height > 0 ? std::floor(cutoff / height + 0.5) : std::numeric_limits<double>::infinity();
    }
    return images;
}

void add_to(Graph& graph, const Structure& structure, double cutoff, int maximum_neighbors) {
    const size_t atoms = structure.atoms();
    const auto first_atom = static_cast<int64_t>(graph.atoms());
    graph.numbers.insert(graph.numbers.end(), structure.numbers.begin(), structure.numbers.end());
    graph.structure.insert(graph.structure.end(), atoms, graph.structures++);

    const Lattice lattice(structure.cell);
    Image reach{};
    std::ranges::transform(images_within(structure.cell, cutoff), reach.begin(),
                           [](double images) { return static_cast<int>(images); });
    std::vector<std::vector<Edge>> edges(atoms);  // by target
    std::vector<size_t> first_edge(atoms);
    for (size_t i = 0; i < atoms; ++i) {
        for (size_t j = 0; j < atoms; ++j)
            find_images(lattice, reach, j, structure.positions[j] - structure.positions[i], cutoff, edges[i]);
        keep_nearest(edges[i], maximum_neighbors);
        first_edge[i] = graph.source.size();
        for (const Edge& edge : edges[i]) {
            graph.source.push_back(first_atom + static_cast<int64_t>(edge.source));
            graph.target.push_back(first_atom + static_cast<int64_t>(i));
            graph.vectors.push_back(edge.vector);
        }
    }
    for (size_t i = 0; i < atoms; ++i)
        for (size_t number = 0; number < edges[i].size(); ++number) {
            const Edge& to_i = edges[i][number];
            for (size_t other = 0; other < edges[to_i.source].size(); ++other) {
                const Edge& to_j = edges[to_i.source][other];
                const bool is_way_back = to_j.source == i && to_i.image[0] + to_j.image[0] == 0 &&
                                         to_i.image[1] + to_j.image[1] == 0 &&
                                         to_i.image[2] + to_j.image[2] == 0;
                if (is_way_back) continue;
                graph.kj.push_back(static_cast<int64_t>(first_edge[to_i.source] + other));
                graph.ji.push_back(static_cast<int64_t>(first_edge[i] + number));
            }
        }
}

Bend bend_of(const Vector& ji, const Vector& kj, double distance_ji, double distance_kj) {
    const Vector along_ji = (1 / distance_ji) * ji, along_kj = (1 / distance_kj) * kj;
    const double cosine = dot(along_ji, along_kj);
    return {.cosine = cosine,
            .by_ji = (1 / distance_ji) * (along_kj - cosine * along_ji),
            .by_kj = (1 / distance_kj) * (along_ji - cosine * along_kj)};
}

}  // namespace belay::bench::oc20
