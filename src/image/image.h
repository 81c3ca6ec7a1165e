// An image on this machine, and the text that lies beside its SquashFS file in the store.
#pragma once

#include "core/time.h"
#include "image/manifest.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace belay::image {

struct Image {
    std::string digest;              // of the manifest; empty for a SquashFS file that is no image of a store
    std::filesystem::path squashfs;  // what a container is made of
    ImageConfig config;              // environment, entrypoint, command, working directory
    uint64_t bytes = 0;              // of the SquashFS file
    core::Time created;              // when it came into the store
};

// What the sidecar says: the digest, the configuration as the registry had it, and when it was imported.
// `config` is JSON that parse_image_config took.
std::string sidecar_text(const std::string& digest, std::string_view config, core::Time created);

// The rest is in the file's name and size. Errors: kSystem.
core::Result<Image> parse_sidecar(std::string_view text);

}  // namespace belay::image
