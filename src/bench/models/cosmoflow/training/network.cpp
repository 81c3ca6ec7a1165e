#include "bench/models/cosmoflow/training/network.h"

#include "bench/models/cosmoflow/kernels.h"
#include "bench/models/cosmoflow/training/split_volume.h"
#include "bench/models/cosmoflow/universe.h"
#include "bench/train/torch_network.h"

#include <vector>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace belay::bench::cosmoflow {

namespace {

// pool_forward and pool_backward as a function that libtorch differentiates.
class PoolAndRectify : public torch::autograd::Function<PoolAndRectify> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input) {
        at::Tensor in = input.contiguous();
        int64_t half = in.size(4) / 2;
        at::Tensor out = at::empty({in.size(0), in.size(1), in.size(2) / 2, half, half}, in.options());
        at::Tensor chosen = at::empty(out.sizes(), in.options().dtype(at::kByte));
        pool_forward(in.data_ptr<float>(), static_cast<size_t>(out.size(0) * out.size(1) * out.size(2)),
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
        at::Tensor in_gradient = at::empty({chosen.size(0), chosen.size(1), chosen.size(2) * 2, side, side},
                                           out_gradient.options());
        pool_backward(out_gradient.data_ptr<float>(), chosen.data_ptr<uint8_t>(),
                      static_cast<size_t>(chosen.size(0) * chosen.size(1) * chosen.size(2)),
                      static_cast<size_t>(side), static_cast<float>(kLeakySlope),
                      in_gradient.data_ptr<float>());
        return {in_gradient};
    }
};

class CosmoFlow : public TorchNetwork {
  public:
    // `part` is null where this rank has whole samples.
    CosmoFlow(const Size& size, uint64_t seed, uint64_t dropout_seed, Group* part)
        : side_(size.side), dropout_(size.dropout), part_(part) {
        int64_t reduced = size.side;
        for (size_t i = 1; i < size.channels.size(); ++i) {
            convolutions_.emplace_back(
                torch::nn::Conv3dOptions(size.channels[i - 1], size.channels[i], 3).padding(1));
            reduced /= 2;
        }
        int64_t width = size.channels.back() * reduced * reduced * reduced;
        for (int64_t next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
            dense_.emplace_back(width, next);
            width = next;
        }
        keep(layer_parameters());
        // As the reference starts. It matters here: libtorch's own smaller weights leave the fourth parameter
        // unlearned.
        initialize_like_keras(layer_parameters(), seed);
        seed_training(dropout_seed);
    }

  protected:
    at::Tensor forward(const Batch& batch, bool training) override {
        at::Tensor x = view_of(batch.inputs, {static_cast<int64_t>(batch.samples),
                                              static_cast<int64_t>(kChannels), side_, side_, side_});
        if (part_) {
            const int64_t depth = side_ / part_->size();
            x = x.narrow(2, part_->rank() * depth, depth);
        }
        for (auto& layer : convolutions_) x = PoolAndRectify::apply(convolved(layer, x));
        if (part_) x = gathered(x, *part_);
        x = x.flatten(1);
        for (size_t i = 0; i + 1 < dense_.size(); ++i) {
            x = at::leaky_relu(dense_[i]->forward(x), kLeakySlope);
            if (dropout_ > 0) x = at::dropout(x, dropout_, training);
        }
        return at::tanh(dense_.back()->forward(x)) * kOutputScale;
    }

    at::Tensor loss(const at::Tensor& predictions, const Batch& batch) override {
        const at::Tensor mean = at::mse_loss(predictions, view_of(batch.targets, predictions.sizes()));
        // Each rank of a part has computed all of it, and they are added up.
        return part_ ? mean / part_->size() : mean;
    }

  private:
    at::Tensor convolved(torch::nn::Conv3d& layer, const at::Tensor& x) const {
        if (!part_) return layer->forward(x);
        return at::conv3d(with_halo(x, *part_), layer->weight, layer->bias, 1, {0, 1, 1});
    }

    std::vector<at::Tensor> layer_parameters() const {
        std::vector<at::Tensor> all;
        for (const auto& layer : convolutions_) all.insert(all.end(), {layer->weight, layer->bias});
        for (const auto& layer : dense_) all.insert(all.end(), {layer->weight, layer->bias});
        return all;
    }

    int side_;
    double dropout_;
    Group* part_;
    std::vector<torch::nn::Conv3d> convolutions_;
    std::vector<torch::nn::Linear> dense_;
};

}  // namespace

std::unique_ptr<Network> make_network(const Size& size, uint64_t seed, uint64_t dropout_seed, Group* part) {
    return std::make_unique<CosmoFlow>(size, seed, dropout_seed, part);
}

}  // namespace belay::bench::cosmoflow
