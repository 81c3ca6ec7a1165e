#include "bench/models/oc20/generator.h"

#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/morse.h"

#include <numeric>
#include <vector>

namespace belay::bench::oc20 {

namespace {
constexpr double kSpacing = 8.0 / 3;  // Å
constexpr double kJitter = 0.4;       // Å
constexpr uint32_t kStream = 0;       // part of the bytes of the data set: never renumber
}  // namespace

Structure make_structure(const Size& size, uint64_t seed, Split split, uint32_t index) {
    RandomStream random(seed, split, index, kStream);
    const auto sites = static_cast<size_t>(size.sites);
    const size_t atoms = static_cast<size_t>(size.fewest_atoms) +
                         random.next_below(static_cast<uint32_t>(size.most_atoms - size.fewest_atoms + 1));
    const double side = kSpacing * size.sites;
    Structure structure;
    for (size_t axis = 0; axis < 3; ++axis) structure.cell[axis][axis] = side;

    // The first sites of a shuffled list (Fisher and Yates).
    std::vector<size_t> places(sites * sites * sites);
    std::iota(places.begin(), places.end(), 0);
    std::vector<uint8_t> species;
    for (size_t atom = 0; atom < atoms; ++atom) {
        const size_t chosen = atom + random.next_below(static_cast<uint32_t>(places.size() - atom));
        std::swap(places[atom], places[chosen]);
        const size_t place = places[atom];
        Vector position = {static_cast<double>(place % sites), static_cast<double>(place / sites % sites),
                           static_cast<double>(place / sites / sites)};
        for (double& coordinate : position)
            coordinate = kSpacing * (coordinate + 0.5) + kJitter * (2 * random.next_uniform() - 1);
        structure.positions.push_back(position);
        species.push_back(static_cast<uint8_t>(random.next_below(kSpecies.size())));
        structure.numbers.push_back(kSpecies[species.back()]);
        structure.fixed.push_back(atom < atoms / 5 ? 1 : 0);
    }
    apply_morse(structure, species, kGeneratedForceUnit);
    return structure;
}

Extent typical_extent(const Size& size) {
    constexpr uint32_t kStructures = 16;
    Graph graph;
    for (uint32_t index = 0; index < kStructures; ++index)
        add_to(graph, make_structure(size, 1, Split::kTrain, index), size.cutoff, size.maximum_neighbors);
    return {.atoms = static_cast<double>(graph.atoms()) / kStructures,
            .edges = static_cast<double>(graph.source.size()) / kStructures,
            .triplets = static_cast<double>(graph.kj.size()) / kStructures};
}

}  // namespace belay::bench::oc20
