// DeepCAM as the trainer knows it.
#pragma once

#include "bench/models/deepcam/profile.h"
#include "bench/train/model.h"

#include <memory>

namespace belay::bench::deepcam {

std::unique_ptr<Model> make_model(const Size& size);

KnownModel known_model();

}  // namespace belay::bench::deepcam
