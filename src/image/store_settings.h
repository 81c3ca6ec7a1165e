// Where the store is, and how it is opened.
#pragma once

#include "core/config.h"
#include "core/process.h"
#include "image/store.h"

namespace belay::image {

// $EDF_IMAGESTORE, else the setting env.image_store, else $SCRATCH/.edf_imagestore, else belay/images in
// $XDG_CACHE_HOME or ~/.cache. Errors: kBadInput where none of them is set, for a path that is not absolute,
// and for "void", which means that images are kept nowhere.
core::Result<std::filesystem::path> store_root(const std::string& setting,
                                               const core::Environment& environment);

// The store that settings and environment name. Errors: as of store_root.
core::Result<Store> open_store(const core::Configuration& configuration,
                               const core::Environment& environment);

}  // namespace belay::image
