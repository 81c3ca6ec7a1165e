// The CosmoFlow network. The library behind it (libtorch) stays in network.cpp.
#pragma once

#include "bench/models/cosmoflow/profile.h"
#include "bench/train/model.h"

#include <memory>

namespace belay::bench::cosmoflow {

// Of batches as Samples makes them; trained on the mean squared error over samples and parameters. Weights
// are drawn from `seed`; `dropout_seed` may differ between ranks. With `part`, this rank computes the convolutions of
// its slab of each sample, and the dense layers as the others do (Model::make_network_part).
std::unique_ptr<Network> make_network(const Size& size, uint64_t seed, uint64_t dropout_seed,
                                      Group* part = nullptr);

}  // namespace belay::bench::cosmoflow
