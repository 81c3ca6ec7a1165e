// How structures lie in a batch's flat arrays. They differ in length, so each begins with its own:
//   inputs   atoms, the cell (9), then by atom: element, fixed (0 or 1), position (3)
//   targets  by atom: force (3); as long as the inputs say
#pragma once

#include "bench/models/oc20/structure.h"

#include <span>
#include <vector>

namespace belay::bench::oc20 {

inline constexpr size_t kHeaderValues = 10, kAtomValues = 5;

void append_to_batch(const Structure& structure, std::vector<float>& inputs, std::vector<float>& targets);

// Calls visit(structure, first_atom) for each structure of a batch: its inputs, from the header on, and the number
// of atoms before it.
template <typename Visit>
void for_each_structure(std::span<const float> inputs, Visit visit) {
    for (size_t first_atom = 0; !inputs.empty();) {
        const auto atoms = static_cast<size_t>(inputs[0]);
        const size_t length = kHeaderValues + atoms * kAtomValues;
        visit(inputs.first(length), first_atom);
        first_atom += atoms;
        inputs = inputs.subspan(length);
    }
}

inline size_t atoms_of(std::span<const float> structure) {
    return static_cast<size_t>(structure[0]);
}
inline bool is_fixed(std::span<const float> structure, size_t atom) {
    return structure[kHeaderValues + atom * kAtomValues + 1] != 0;
}

// A structure of a batch, with forces of 0.
Structure structure_from(std::span<const float> inputs);

// What a force on each atom counts in the mean over a batch: the same for all free atoms of a structure, 0 for fixed
// ones, so that each structure counts 1/samples (nothing, where all of its atoms are fixed). The mean over the
// batches of several ranks is then the mean over all of their structures, which it would not be with a mean over
// atoms: ranks have different numbers of them.
std::vector<double> force_weights(std::span<const float> inputs, size_t samples);

}  // namespace belay::bench::oc20
