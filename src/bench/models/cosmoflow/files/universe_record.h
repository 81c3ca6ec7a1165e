// A universe as MLPerf HPC publishes it: a TFRecord with one Example, packed by gzip or not. Its feature "x" has the counts as
// one value of bytes, int16 of [z][y][x][channel]; its feature "y" has the parameters as floats. Sources: mlcommons/hpc,
// cosmoflow/prepare.py (`x=xi.tostring()` of a volume of side x side x side x 4) and cosmoflow/data/cosmo.py (`_parse_data`).
#pragma once

#include "bench/models/cosmoflow/universe.h"
#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace belay::bench::cosmoflow {

inline constexpr const char* kSideHint =
    "the data of MLPerf HPC have 128 cells per edge, which --profile full takes";

// Writes the counts of a universe with this side as counts[channel][z][y][x] and returns its parameters. Errors: kBadInput for
// anything else; kSystem, ENOMEM.
core::Result<Parameters> decode_universe_record(std::string_view file, uint32_t side,
                                                std::span<int16_t> counts);

// More bytes than such a file has, packed or not: its counts, and room for what stands around them.
size_t universe_record_limit(uint32_t side);

}  // namespace belay::bench::cosmoflow
