// A universe as a file, so that training can read its data as training does elsewhere: loose, or packed by
// "belay stage pack".
//
//   header  32 bytes    BLYUNIV1, side:u32, channels:u32 = 4, the 4 parameters as float32
//   counts              channels x side^3 of int16, [channel][z][y][x]
//
// Numbers are little-endian.
#pragma once

#include "bench/models/cosmoflow/universe.h"
#include "core/error.h"

#include <span>
#include <string>
#include <string_view>

namespace belay::bench::cosmoflow {

// "train/000017.universe": where it lies in the directory of the data.
std::string universe_name(Split split, uint32_t index);

std::string encode_universe(uint32_t side, const Parameters& parameters, std::span<const int16_t> counts);

// Writes counts of a universe with this side and returns its parameters. Errors: kBadInput for anything else.
core::Result<Parameters> decode_universe(std::string_view bytes, uint32_t side, std::span<int16_t> counts);

// The size of such a file.
size_t universe_bytes(uint32_t side);

}  // namespace belay::bench::cosmoflow
