// The layers of an image, on this machine and checked: those that are here already are taken, the others are
// downloaded, several at once, each going on where an earlier attempt broke off.
#pragma once

#include "core/file.h"
#include "image/import.h"
#include "image/registry.h"
#include "image/store_layout.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::image {

struct Layer {
    std::shared_ptr<core::Descriptor>
        file;  // the bytes as downloaded; open, so that nobody can take them away
    LayerIndex index;
};

struct LayerFetchOptions {
    unsigned threads = 8;
    ImportLimits limits;
    core::fetch::HttpOptions http;
    core::Duration longest_wait =
        std::chrono::minutes(30);  // for another process that downloads the same layer
};

// Bytes of all layers that are here, of how many. Called by one thread at a time.
using FetchProgress = std::function<void(uint64_t done, uint64_t total)>;

// The layers of `manifest`, lowest first. Each has the hash and size that the manifest says, and its tar the
// hash that `diff_ids` say. Errors: those of the registry; kSystem naming image and layer for what does not
// match, a full disk, or a layer that is no usable archive.
core::Result<std::vector<Layer>> fetch_layers(Registry& registry, const std::string& image_name,
                                              const Manifest& manifest,
                                              const std::vector<std::string>& diff_ids,
                                              const StoreLayout& layout, const LayerFetchOptions& options,
                                              core::Clock& clock, const FetchProgress& progress);

// What to do about a full disk.
std::string full_disk_hint(const StoreLayout& layout);

// Removes layers that are kept, longest unused first, until at most `limit` bytes are left, and what was left
// over of downloads more than a week ago.
void trim_layers(const StoreLayout& layout, uint64_t limit, core::Time now);

}  // namespace belay::image
