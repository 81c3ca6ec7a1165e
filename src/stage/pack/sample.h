// Which files belong together: the sample of webdataset, all files that share a directory and the base name
// up to its first dot ("train/000017.jpg", "train/000017.cls"). A name without a dot, or that begins with
// one, is a sample by itself.
#pragma once

#include <string_view>

namespace belay::stage {

// "train/000017" of "train/000017.seg.png".
std::string_view sample_key(std::string_view path);

}  // namespace belay::stage
