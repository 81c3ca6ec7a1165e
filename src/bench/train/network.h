// The CosmoFlow network and its optimiser. The library behind it (libtorch) stays in network.cpp.
#pragma once

#include "bench/models/cosmoflow/profile.h"
#include "bench/models/cosmoflow/universe.h"

#include <cstdint>
#include <memory>
#include <span>

namespace belay::bench::cosmoflow {

// `threads`: of this process, for all networks in it. Set before the first network is made, and fixed, since
// the number of threads decides the order of sums. Also asks libtorch for deterministic algorithms.
void prepare_library(int threads);

class Network {
  public:
    // Weights drawn with `seed`; `dropout_seed` may differ between ranks.
    Network(const Profile& profile, uint64_t seed, uint64_t dropout_seed);
    Network(Network&&) noexcept;
    ~Network();

    // All weights and biases, one after the other. Valid as long as the network.
    std::span<float> parameters();
    // The gradients in the same order and, last, the loss: what ranks add up, in one operation.
    std::span<float> gradients_and_loss();

    // Inputs are [samples][kChannels][side][side][side], logarithms of counts; targets
    // [samples][kParameters].

    // Sets gradients_and_loss() to those of the mean squared error over these samples and targets.
    void compute_gradients(std::span<const float> inputs, std::span<const Parameters> targets);

    // velocity = 0.9 velocity + gradient; parameter -= rate * velocity (stochastic gradient descent with
    // momentum).
    void step(double rate);

    // What the network says the parameters of each sample are. Dropout is off.
    void predict(std::span<const float> inputs, std::span<Parameters> predictions);

  private:
    struct Layers;
    std::unique_ptr<Layers> layers_;
};

}  // namespace belay::bench::cosmoflow
