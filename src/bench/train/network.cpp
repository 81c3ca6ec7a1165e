#include "bench/train/network.h"

#include "bench/models/cosmoflow/kernels.h"
#include "bench/synthetic/random.h"

#include <cmath>
#include <mutex>
#include <vector>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace belay::bench::cosmoflow {

namespace {

// pool_forward and pool_backward as a function that libtorch differentiates.
class PoolAndRectify : public torch::autograd::Function<PoolAndRectify> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input) {
        at::Tensor in = input.contiguous();
        int64_t half = in.size(4) / 2;
        at::Tensor out = at::empty({in.size(0), in.size(1), half, half, half}, in.options());
        at::Tensor chosen = at::empty(out.sizes(), in.options().dtype(at::kByte));
        pool_forward(in.data_ptr<float>(), static_cast<size_t>(in.size(0) * in.size(1)),
                     static_cast<size_t>(in.size(4)), static_cast<float>(kLeakySlope), out.data_ptr<float>(),
                     chosen.data_ptr<uint8_t>());
        context->save_for_backward({chosen});
        return out;
    }

    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::tensor_list gradients) {
        at::Tensor chosen = context->get_saved_variables()[0];
        at::Tensor out_gradient = gradients[0].contiguous();
        int64_t side = chosen.size(4) * 2;
        at::Tensor in_gradient =
            at::empty({chosen.size(0), chosen.size(1), side, side, side}, out_gradient.options());
        pool_backward(out_gradient.data_ptr<float>(), chosen.data_ptr<uint8_t>(),
                      static_cast<size_t>(chosen.size(0) * chosen.size(1)), static_cast<size_t>(side),
                      static_cast<float>(kLeakySlope), in_gradient.data_ptr<float>());
        return {in_gradient};
    }
};

int64_t samples_in(std::span<const float> inputs, int side) {
    return static_cast<int64_t>(inputs.size()) / (static_cast<int64_t>(kChannels) * side * side * side);
}

}  // namespace

void prepare_library(int threads) {
    at::set_num_threads(threads);
    static std::once_flag once;  // libtorch takes this number a single time
    std::call_once(once, [] { at::set_num_interop_threads(1); });
    at::globalContext().setDeterministicAlgorithms(true, true);
}

struct Network::Layers {
    int side;
    double dropout;
    std::vector<torch::nn::Conv3d> convolutions;
    std::vector<torch::nn::Linear> dense;
    // Flat; the layers' own tensors are views into them. Behind the gradients stands the loss.
    at::Tensor parameters, gradients_and_loss, gradients, velocity;

    Layers(const Profile& profile, uint64_t seed) : side(profile.side), dropout(profile.dropout) {
        int64_t reduced = profile.side;
        for (size_t i = 1; i < profile.channels.size(); ++i) {
            convolutions.emplace_back(
                torch::nn::Conv3dOptions(profile.channels[i - 1], profile.channels[i], 3).padding(1));
            reduced /= 2;
        }
        int64_t width = profile.channels.back() * reduced * reduced * reduced;
        for (int64_t next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
            dense.emplace_back(width, next);
            width = next;
        }
        flatten();
        initialize(seed);
    }

    std::vector<at::Tensor> all_parameters() const {
        std::vector<at::Tensor> all;
        for (const auto& layer : convolutions) all.insert(all.end(), {layer->weight, layer->bias});
        for (const auto& layer : dense) all.insert(all.end(), {layer->weight, layer->bias});
        return all;
    }

    // Moves the parameters into one block of memory, and their gradients into another: one collective
    // operation and one optimiser loop serve all of them, without copies.
    void flatten() {
        torch::NoGradGuard no_gradient;
        std::vector<at::Tensor> all = all_parameters(), pieces;
        for (const at::Tensor& parameter : all) pieces.push_back(parameter.reshape({-1}));
        parameters = at::cat(pieces);
        gradients_and_loss = at::zeros({parameters.numel() + 1});
        gradients = gradients_and_loss.narrow(0, 0, parameters.numel());
        velocity = at::zeros_like(parameters);
        int64_t start = 0;
        for (at::Tensor& parameter : all) {
            int64_t count = parameter.numel();
            at::IntArrayRef shape = parameter.sizes();
            at::Tensor gradient = gradients.narrow(0, start, count).view(shape);
            parameter.set_data(parameters.narrow(0, start, count).view(shape));
            parameter.mutable_grad() = gradient;
            start += count;
        }
    }

    // Glorot's uniform weights and no bias, as Keras does for the reference (Glorot and Bengio, 2010). It
    // matters here: libtorch's own smaller weights leave the fourth parameter unlearned.
    void initialize(uint64_t seed) {
        torch::NoGradGuard no_gradient;
        uint32_t layer = 0;
        for (at::Tensor& parameter : all_parameters()) {
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

    at::Tensor forward(std::span<const float> inputs, bool training) {
        // from_blob wants a pointer to what may change, but nothing here writes to the input.
        at::Tensor x =
            at::from_blob(const_cast<float*>(inputs.data()),
                          {samples_in(inputs, side), static_cast<int64_t>(kChannels), side, side, side});
        for (auto& layer : convolutions) x = PoolAndRectify::apply(layer->forward(x));
        x = x.flatten(1);
        for (size_t i = 0; i + 1 < dense.size(); ++i) {
            x = at::leaky_relu(dense[i]->forward(x), kLeakySlope);
            if (dropout > 0) x = at::dropout(x, dropout, training);
        }
        return at::tanh(dense.back()->forward(x)) * kOutputScale;
    }
};

Network::Network(const Profile& profile, uint64_t seed, uint64_t dropout_seed) {
    layers_ = std::make_unique<Layers>(profile, seed);
    torch::manual_seed(dropout_seed);
}
Network::Network(Network&&) noexcept = default;
Network::~Network() = default;

std::span<float> Network::parameters() {
    return {layers_->parameters.data_ptr<float>(), static_cast<size_t>(layers_->parameters.numel())};
}

std::span<float> Network::gradients_and_loss() {
    at::Tensor& all = layers_->gradients_and_loss;
    return {all.data_ptr<float>(), static_cast<size_t>(all.numel())};
}

void Network::compute_gradients(std::span<const float> inputs, std::span<const Parameters> targets) {
    at::Tensor wanted =
        at::from_blob(const_cast<Parameters*>(targets.data()),
                      {static_cast<int64_t>(targets.size()), static_cast<int64_t>(kParameters)});
    layers_->gradients.zero_();
    at::Tensor loss = at::mse_loss(layers_->forward(inputs, true), wanted);
    loss.backward();
    gradients_and_loss().back() = loss.item<float>();
}

void Network::step(double rate) {
    torch::NoGradGuard no_gradient;
    layers_->velocity.mul_(kMomentum).add_(layers_->gradients);
    layers_->parameters.add_(layers_->velocity, -rate);
}

void Network::predict(std::span<const float> inputs, std::span<Parameters> predictions) {
    torch::NoGradGuard no_gradient;
    at::Tensor out = layers_->forward(inputs, false).contiguous();
    const float* values = out.data_ptr<float>();
    for (Parameters& prediction : predictions)
        for (float& value : prediction) value = *values++;
}

}  // namespace belay::bench::cosmoflow
