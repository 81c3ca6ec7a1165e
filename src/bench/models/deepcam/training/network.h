// The DeepCAM network. The library behind it (libtorch) stays in network.cpp.
#pragma once

#include "bench/models/deepcam/profile.h"
#include "bench/train/model.h"

#include <memory>

namespace belay::bench::deepcam {

// Of batches as the model's data make them: inputs [samples][channels][y][x], targets [samples][y][x], each the
// number of a class. Trained on the cross entropy of each cell times the weight of its class, of which the plain mean
// is taken. Predictions are the likeliest classes. Weights are drawn from `seed`; nothing is drawn in training.
std::unique_ptr<Network> make_network(const Size& size, uint64_t seed);

}  // namespace belay::bench::deepcam
