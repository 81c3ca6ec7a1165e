// A structure of OC20 out of its pickle: a torch_geometric.data.Data, whose tensors carry their values as torch.save
// of old wrote them. Versions 1 and 2 of torch_geometric are understood.
#pragma once

#include "bench/models/oc20/structure.h"
#include "core/error.h"

#include <cstdint>
#include <string_view>

namespace belay::bench::oc20 {

// From its pos, cell, atomic_numbers, force, fixed and y; everything else, as the edges, is left. Errors: kBadInput,
// with what is wrong where.
core::Result<Structure> structure_from_pickle(std::string_view bytes);

// A pickled number, as under the key "length". Errors: kBadInput.
core::Result<int64_t> integer_from_pickle(std::string_view bytes);

}  // namespace belay::bench::oc20
