// A climate as a file, so that training can read its data as training does elsewhere: loose, or packed by
// "belay stage pack".
//
//   header  32 bytes    BLYCLIM1, height:u32, width:u32, channels:u32, 12 bytes of 0
//   values              float32, [channel][y][x]
//   mask                u8 below kClasses, [y][x]
//
// Numbers are little-endian.
#pragma once

#include "bench/models/deepcam/architecture.h"
#include "bench/synthetic/random.h"
#include "core/error.h"

#include <span>
#include <string>
#include <string_view>

namespace belay::bench::deepcam {

// "train/000017.climate": where it lies in the directory of the data.
std::string climate_name(Split split, uint32_t index);

std::string encode_climate(const Shape& image, std::span<const float> values, std::span<const uint8_t> mask);

// Writes values and mask of a climate of this shape. Errors: kBadInput for anything else.
core::Result<> decode_climate(std::string_view bytes, const Shape& image, std::span<float> values,
                              std::span<uint8_t> mask);

// The size of such a file.
size_t climate_bytes(const Shape& image);

}  // namespace belay::bench::deepcam
