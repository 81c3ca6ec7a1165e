// The layers of an image on this machine, with the hashes that they must have: those that are here already
// are taken, the others are downloaded, several at once, each going on where an earlier attempt broke off.
#pragma once

#include "core/file.h"
#include "image/registry.h"
#include "image/store_layout.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::image {

// The bytes as downloaded; open, so that they stay when somebody on this node removes the file. On NFS one
// who does so on another node takes them away: reading them is then an error (ESTALE), and what is in use is
// not trimmed.
using Layer = std::shared_ptr<core::Descriptor>;

struct LayerFetchOptions {
    unsigned threads = 8;
    core::fetch::HttpOptions http;
    core::Duration longest_wait =
        std::chrono::minutes(30);  // for another process that downloads the same layer
};

// Bytes of all layers that are here, of how many. Called by one thread at a time.
using FetchProgress = std::function<void(uint64_t done, uint64_t total)>;

// The layers that a manifest names, each with the hash and size that it says. Errors: those of the registry;
// kSystem naming image and layer for what does not match, or a full disk.
core::Result<std::vector<Layer>> fetch_layers(Registry& registry, const std::string& image_name,
                                              const std::vector<Descriptor>& blobs, const StoreLayout& layout,
                                              const LayerFetchOptions& options, core::Clock& clock,
                                              const FetchProgress& progress);

// What to do about a full disk.
std::string full_disk_hint(const StoreLayout& layout);

// Removes layers that are kept, longest unused first, until at most `limit` bytes are left or what is left
// was used within the hour, and what was left over of downloads more than a week ago.
void trim_layers(const StoreLayout& layout, uint64_t limit, core::Time now);

}  // namespace belay::image
