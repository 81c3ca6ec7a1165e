// OC20 as the trainer knows it.
#pragma once

#include "bench/models/oc20/profile.h"
#include "bench/train/model.h"

#include <memory>

namespace belay::bench::oc20 {

std::unique_ptr<Model> make_model(const Size& size);

KnownModel known_model();

}  // namespace belay::bench::oc20
