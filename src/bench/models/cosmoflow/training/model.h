// CosmoFlow as the trainer knows it.
#pragma once

#include "bench/models/cosmoflow/profile.h"
#include "bench/train/model.h"

#include <memory>

namespace belay::bench::cosmoflow {

std::unique_ptr<Model> make_model(const Size& size);

KnownModel known_model();

}  // namespace belay::bench::cosmoflow
