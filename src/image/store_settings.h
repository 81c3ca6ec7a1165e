// The settings of the store, and where it is.
#pragma once

#include "core/config.h"
#include "core/process.h"
#include "image/store.h"

#include <span>

namespace belay::image {

// For the faces to declare: env.image_store, env.layer_cache, env.image_wait, env.insecure_registries.
std::span<const core::Setting> store_settings();

// $EDF_IMAGESTORE, else the setting env.image_store, else $SCRATCH/.edf_imagestore, else belay/images in
// $XDG_CACHE_HOME or ~/.cache. Errors: kBadInput where none of them is set, for a path that is not absolute,
// and for "void", which means that images are kept nowhere.
core::Result<std::filesystem::path> store_root(const std::string& setting,
                                               const core::Environment& environment);

// The store that settings and environment name. Errors: as of store_root.
core::Result<Store> open_store(const core::Configuration& configuration,
                               const core::Environment& environment);

}  // namespace belay::image
