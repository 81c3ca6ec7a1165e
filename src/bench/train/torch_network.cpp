#include "bench/train/torch_network.h"

#include "bench/train/library.h"

#include <cmath>
#include <mutex>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/utils.h>

namespace belay::bench {

namespace {
constexpr double kMomentum = 0.9;
}

void prepare_library(int threads) {
    at::set_num_threads(threads);
    static std::once_flag once;  // libtorch takes this number a single time
    std::call_once(once, [] { at::set_num_interop_threads(1); });
    at::globalContext().setDeterministicAlgorithms(true, true);
}

void TorchNetwork::keep(std::vector<at::Tensor> parameters) {
    torch::NoGradGuard no_gradient;
    std::vector<at::Tensor> pieces;
    for (const at::Tensor& parameter : parameters) pieces.push_back(parameter.reshape({-1}));
    parameters_ = at::cat(pieces);
    gradients_and_loss_ = at::zeros({parameters_.numel() + 1});
    gradients_ = gradients_and_loss_.narrow(0, 0, parameters_.numel());
    velocity_ = at::zeros_like(parameters_);
    int64_t start = 0;
    for (at::Tensor& parameter : parameters) {
        int64_t count = parameter.numel();
        at::IntArrayRef shape = parameter.sizes();
        at::Tensor gradient = gradients_.narrow(0, start, count).view(shape);
        parameter.set_data(parameters_.narrow(0, start, count).view(shape));
        parameter.mutable_grad() = gradient;
        start += count;
    }
}

void TorchNetwork::seed_training(uint64_t seed) {
    torch::manual_seed(seed);
}

std::span<float> TorchNetwork::parameters() {
    return {parameters_.data_ptr<float>(), static_cast<size_t>(parameters_.numel())};
}

std::span<float> TorchNetwork::gradients_and_loss() {
    return {gradients_and_loss_.data_ptr<float>(), static_cast<size_t>(gradients_and_loss_.numel())};
}

void TorchNetwork::compute_gradients(const Batch& batch) {
    gradients_.zero_();
    at::Tensor mean = loss(forward(batch, true), batch);
    mean.backward();
    gradients_and_loss().back() = mean.item<float>();
}

void TorchNetwork::step(double rate) {
    torch::NoGradGuard no_gradient;
    velocity_.mul_(kMomentum).add_(gradients_);
    parameters_.add_(velocity_, -rate);
}

void TorchNetwork::predict(const Batch& batch, std::vector<float>& predictions) {
    torch::NoGradGuard no_gradient;
    at::Tensor out = forward(batch, false).contiguous();
    predictions.assign(out.data_ptr<float>(), out.data_ptr<float>() + out.numel());
}

at::Tensor view_of(const std::vector<float>& values, at::IntArrayRef shape) {
    // from_blob wants a pointer to what may change, but nothing here writes to a batch.
    return at::from_blob(const_cast<float*>(values.data()), shape);
}

void initialize_like_keras(const std::vector<at::Tensor>& parameters, uint64_t seed) {
    torch::NoGradGuard no_gradient;
    uint32_t layer = 0;
    for (const at::Tensor& parameter : parameters) {
        float* values = parameter.data_ptr<float>();
        double limit = 0;
        if (parameter.dim() > 1) {
            int64_t field = parameter[0][0].numel();  // cells of the kernel
            limit = std::sqrt(6.0 / static_cast<double>(field * (parameter.size(0) + parameter.size(1))));
        }
        RandomStream random(seed, Split::kWeights, layer++, 0);
        for (int64_t i = 0; i < parameter.numel(); ++i)
            values[i] = static_cast<float>(limit * (2 * random.next_uniform() - 1));
    }
}

}  // namespace belay::bench
