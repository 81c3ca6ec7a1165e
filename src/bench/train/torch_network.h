// A network made of libtorch's layers: a model's own says what the layers compute, and this keeps their
// parameters and gradients. Included by the network.cpp of models only, since libtorch's headers
// are slow to compile.
#pragma once

#include "bench/train/model.h"

#include <ATen/core/Tensor.h>
#include <functional>
#include <memory>

namespace belay::bench {

class TorchNetwork : public Network {
  public:
    std::span<float> parameters() override;
    std::span<float> gradients_and_loss() override;
    std::vector<Layer> layers() override { return layers_; }
    std::span<float> buffers() override;
    void compute_gradients(const Batch& batch) override;
    void report_gradients(std::function<void(size_t layer)> ready) override;
    void seed_draws(uint64_t seed) override { seed_training(seed); }
    void predict(const Batch& batch, std::vector<float>& predictions) override;

  protected:
    // To be called once the layers exist, before any of them is used. Moves the parameters into one block of
    // memory, and their gradients into another: one loop of the optimizer serves all of them, and ranks add them up
    // without copies. `buffers`, of float32, have a third.
    void keep(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers = {});
    // What is drawn in training (dropout) follows from this seed.
    static void seed_training(uint64_t seed);

    virtual at::Tensor forward(const Batch& batch, bool training) = 0;
    virtual at::Tensor loss(const at::Tensor& predictions, const Batch& batch) = 0;  // one value: the mean

  private:
    // Flat; the layers' own tensors are views into them. Behind the gradients stands the loss.
    at::Tensor parameters_, gradients_and_loss_, gradients_, buffers_;
    std::vector<Layer> layers_;
    std::vector<at::Tensor> tensors_;  // the layers' own
    std::function<void(size_t)> ready_;
    std::vector<std::shared_ptr<void>> accumulators_;  // the hooks live as long as these
};

// `values` as a tensor of `shape`, without a copy: valid as long as the values.
at::Tensor view_of(const std::vector<float>& values, at::IntArrayRef shape);

// Glorot's uniform weights and no biases (Glorot and Bengio, 2010), drawn layer by layer from `seed`: what
// Keras starts with. Layers' weights have [out][in][kernel...].
void initialize_like_keras(const std::vector<at::Tensor>& parameters, uint64_t seed);

}  // namespace belay::bench
