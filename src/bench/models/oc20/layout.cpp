#include "bench/models/oc20/layout.h"

#include <algorithm>

namespace belay::bench::oc20 {

void append_to_batch(const Structure& structure, std::vector<float>& inputs, std::vector<float>& targets) {
    auto append = [](std::vector<float>& values, const Vector& vector) {
        for (double value : vector) values.push_back(static_cast<float>(value));
    };
    inputs.push_back(static_cast<float>(structure.atoms()));
    for (const Vector& side : structure.cell) append(inputs, side);
    for (size_t atom = 0; atom < structure.atoms(); ++atom) {
        inputs.push_back(structure.numbers[atom]);
        inputs.push_back(structure.fixed[atom]);
        append(inputs, structure.positions[atom]);
        append(targets, structure.forces[atom]);
    }
}

Structure structure_from(std::span<const float> inputs) {
    Structure structure;
    for (size_t i = 0; i < 9; ++i) structure.cell[i / 3][i % 3] = double{inputs[1 + i]};
    for (size_t atom = 0; atom < atoms_of(inputs); ++atom) {
        const auto values = inputs.subspan(kHeaderValues + atom * kAtomValues, kAtomValues);
        structure.numbers.push_back(static_cast<uint8_t>(values[0]));
        structure.fixed.push_back(values[1] != 0 ? 1 : 0);
        structure.positions.push_back({double{values[2]}, double{values[3]}, double{values[4]}});
    }
    structure.forces.resize(structure.atoms());
    return structure;
}

std::vector<double> force_weights(std::span<const float> inputs, size_t samples) {
    std::vector<double> weights;
    for_each_structure(inputs, [&](std::span<const float> structure, size_t) {
        size_t free = 0;
        for (size_t atom = 0; atom < atoms_of(structure); ++atom) free += is_fixed(structure, atom) ? 0 : 1;
        const double weight = 1.0 / static_cast<double>(3 * std::max<size_t>(free, 1) * samples);
        for (size_t atom = 0; atom < atoms_of(structure); ++atom)
            weights.push_back(is_fixed(structure, atom) ? 0 : weight);
    });
    return weights;
}

}  // namespace belay::bench::oc20
