// Layers become one SquashFS file. Each layer is read twice: once for its names and hashes (which may go on
// while others are still being downloaded), then, when it is known which entries are seen in the image, for
// their content, straight into the SquashFS file. Nothing is ever extracted.
#pragma once

#include "image/layer_tree.h"
#include "image/limits.h"
#include "image/squashfs_writer.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace belay::image {

// What the first reading of a layer gave.
struct LayerIndex {
    std::vector<TarEntry> entries;
    std::string diff_id;  // of the tar
    uint64_t compressed_bytes = 0;
    uint64_t tar_bytes = 0;
};

// Errors: kSystem, as of TarReader.
core::Result<LayerIndex> index_layer(ByteSource source, const ImportLimits& limits);

// Opens a layer's bytes from their beginning; called once for each layer, from the lowest to the highest.
using LayerOpener = std::function<core::Result<ByteSource>(size_t layer)>;
// Bytes of content written so far, of how many.
using WriteProgress = std::function<void(uint64_t done, uint64_t total)>;

// Merges the layers (lowest first) and writes the SquashFS file to `fd` (see SquashfsWriter). `names` are
// what messages call the layers. Errors: kSystem.
core::Result<> write_image(std::span<const LayerIndex> layers, std::span<const std::string> names,
                           const LayerOpener& open, const ImportLimits& limits, SquashfsWriter writer,
                           uint32_t mtime, const WriteProgress& progress = {});

}  // namespace belay::image
