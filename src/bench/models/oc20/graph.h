// Which atoms act on each other: pairs within the cutoff, also across the cell's boundaries, and pairs of pairs.
#pragma once

#include "bench/models/oc20/structure.h"

#include <array>
#include <cstdint>
#include <vector>

namespace belay::bench::oc20 {

// How many cells a sphere of `cutoff` reaches along each lattice vector, from anywhere in a cell; infinite for a
// cell without volume.
std::array<double, 3> images_within(const std::array<Vector, 3>& cell, double cutoff);

// One or several structures, their atoms numbered through. An edge j -> i says that atom j, or an image of it,
// lies within the cutoff of atom i. A triplet k -> j -> i is two edges that share atom j; the way back along the
// same edge is none.
struct Graph {
    std::vector<int64_t> numbers;         // of elements, by atom
    std::vector<int64_t> structure;       // by atom
    std::vector<int64_t> source, target;  // j and i, by edge; ordered by i
    std::vector<Vector> vectors;          // from i to j, by edge, Å
    std::vector<int64_t> kj, ji;          // edges, by triplet; ordered by ji
    int64_t structures = 0;

    size_t atoms() const { return numbers.size(); }
};

// Adds a structure that check_structure() accepts. Of more than `maximum_neighbors` the nearest are taken. Atoms
// that are closer than 0.01 Å do not act on each other, as in the reference (radius_graph_pbc).
void add_to(Graph& graph, const Structure& structure, double cutoff, int maximum_neighbors);

// The cosine of the angle of a triplet, between the vectors of its edges ji and kj (0 degrees where k, j and i lie
// on one line), with its gradient by each of them. Distances are of these edges.
struct Bend {
    double cosine = 0;
    Vector by_ji{}, by_kj{};
};
Bend bend_of(const Vector& ji, const Vector& kj, double distance_ji, double distance_kj);

}  // namespace belay::bench::oc20
