// The models that belay-train trains. A new one is a folder here and a line in registry.cpp.
#pragma once

#include "bench/train/model.h"

#include <vector>

namespace belay::bench {

std::vector<KnownModel> known_models();

}  // namespace belay::bench
