// What may be configured of images.
#pragma once

#include "core/config.h"

namespace belay::image {

inline constexpr core::Setting kSettings[] = {
    {"env.image_store", core::SettingType::kText, "",
     "directory of images; empty: $SCRATCH/.edf_imagestore or ~/.cache/belay/images"},
    {"env.layer_cache", core::SettingType::kSize, "20GB",
     "limit of the space for image layers that are kept for the next pull"},
    {"env.image_wait", core::SettingType::kDuration, "30m",
     "longest wait for another process that imports the same image"},
    {"env.insecure_registries", core::SettingType::kTextList, "",
     "registries (HOST or HOST:PORT) reached by http; those on this machine always are"},
};

}  // namespace belay::image
