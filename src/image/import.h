// Layers become one SquashFS file. Each layer is read once, lowest first: its names, the hash of its tar, and
// the content of its files, which goes straight into the SquashFS file. Nothing is ever extracted. What newer
// layers turn out to hide lies in the file unused; where that is much, all is read once more, for what is
// seen only.
#pragma once

#include "image/layer_tree.h"
#include "image/limits.h"
#include "image/squashfs_writer.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace belay::image {

// What a layer holds, without content.
struct LayerIndex {
    std::vector<TarEntry> entries;
    std::string diff_id;  // of the tar
    uint64_t compressed_bytes = 0;
    uint64_t tar_bytes = 0;
};

// Errors: kSystem, as of TarReader.
core::Result<LayerIndex> index_layer(ByteSource source, const ImportLimits& limits);

struct LayerInput {
    std::string name;                                // in messages
    std::function<core::Result<ByteSource>()> open;  // its bytes, from their beginning
    std::string diff_id;                             // that its tar must have; empty: not compared
    uint64_t compressed_bytes = 0;  // of the whole layer: for the progress and the compression ratio
};

// Begins the SquashFS file, and begins it anew if it is called again.
using WriterOpener = std::function<core::Result<SquashfsWriter>()>;
// Compressed bytes read so far, of how many.
using WriteProgress = std::function<void(uint64_t done, uint64_t total)>;

// Merges the layers (lowest first) into the SquashFS file. `mtime` is that of the whole (seconds since 1970).
// Errors: kSystem, naming the layer; a layer that is no usable archive, or not the one with that diff_id,
// with a hint.
core::Result<> write_image(std::span<const LayerInput> layers, const ImportLimits& limits,
                           const WriterOpener& open_writer, uint32_t mtime,
                           const WriteProgress& progress = {});

}  // namespace belay::image
