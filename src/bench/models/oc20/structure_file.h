// A structure as a file, so that training can read its data as training does elsewhere: loose, or packed by
// "belay stage pack".
//
//   header  96 bytes   BLYATOM1, atoms:u32, 0:u32, energy:f64, cell: 3 x 3 f64
//   atoms   56 bytes   position: 3 f64, force: 3 f64, element:u8, fixed:u8, 6 bytes of 0
//
// Numbers are little-endian.
#pragma once

#include "bench/models/oc20/structure.h"
#include "bench/synthetic/random.h"
#include "core/error.h"

#include <string>
#include <string_view>

namespace belay::bench::oc20 {

// "train/000017.structure": where it lies in the directory of the data.
std::string structure_name(Split split, uint32_t index);

std::string encode_structure(const Structure& structure);

// A structure that a network with this cutoff can take. Errors: kBadInput for anything else.
core::Result<Structure> decode_structure(std::string_view bytes, double cutoff);

// The size of the longest file that decode_structure() takes.
size_t maximum_structure_bytes();

}  // namespace belay::bench::oc20
