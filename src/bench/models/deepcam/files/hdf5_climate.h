// DeepCAM's own data, as they are published: one HDF5 file for each sample, with `climate/data` of [y][x][channel] and
// `climate/labels_0` of [y][x], and one with the range of each channel over all samples (stats.h5: `climate/minval`,
// `climate/maxval`). Source: mlcommons/hpc, deepcam/src/deepCam/data/cam_hdf5_dataset.py.
//
// The files are read here and given to libhdf5 as bytes: it opens nothing by itself, locks nothing (which parallel file
// systems refuse) and follows no link. Everything in a file is taken as foreign: shapes are compared before anything is
// allocated for them, and compressed data (deflate, shuffle) are expanded to these and no further. libhdf5 is called by one
// thread at a time, and is silent.
#pragma once

#include "bench/models/deepcam/architecture.h"
#include "core/error.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belay::bench::deepcam {

// By channel.
struct ChannelRanges {
    std::vector<float> lowest;
    std::vector<float> factor;  // 1 / (highest - lowest)
};

// Of the bytes of a stats.h5. Errors: kBadInput for anything else, for another number of channels, and for a channel
// that is the same everywhere.
core::Result<ChannelRanges> read_ranges(std::string_view bytes, int channels);

// Writes values[channel][y][x] scaled by the ranges to 0..1, and mask[y][x]. Errors: kBadInput for anything but a
// sample of this shape.
core::Result<> read_hdf5_climate(std::string_view bytes, const Shape& image, const ChannelRanges& ranges,
                                 std::span<float> values, std::span<uint8_t> mask);

// More bytes than such a file ever has: its data, labels of 64 bits, and as much again.
size_t hdf5_climate_limit(const Shape& image);

}  // namespace belay::bench::deepcam
