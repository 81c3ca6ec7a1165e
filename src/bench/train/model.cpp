#include "bench/train/model.h"

namespace belay::bench {

void Network::optimize_with(const OptimizerSettings& settings) {
    optimizer_ = std::make_unique<Optimizer>(settings, layers());
}

Optimizer& Network::optimizer() {
    if (!optimizer_) optimize_with({});
    return *optimizer_;
}

void Network::step(double rate) {
    const std::span<float> gradients = gradients_and_loss();
    optimizer().step(parameters(), gradients.first(gradients.size() - 1), rate);
}

}  // namespace belay::bench
