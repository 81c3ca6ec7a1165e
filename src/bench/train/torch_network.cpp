#include "bench/train/torch_network.h"

#include "bench/train/library.h"

#include <cmath>
#include <dlfcn.h>
#include <mutex>

// Not torch/torch.h, which costs the compiler twice as long.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/utils.h>

namespace belay::bench {

namespace {

// Moves tensors into one block of memory, of which they become views.
at::Tensor in_one_block(std::vector<at::Tensor>& tensors) {
    if (tensors.empty()) return at::empty({0});
    std::vector<at::Tensor> pieces;
    for (const at::Tensor& tensor : tensors) pieces.push_back(tensor.reshape({-1}));
    at::Tensor block = at::cat(pieces);
    int64_t start = 0;
    for (at::Tensor& tensor : tensors) {
        const int64_t count = tensor.numel();
        tensor.set_data(block.narrow(0, start, count).view(tensor.sizes()));
        start += count;
    }
    return block;
}

std::span<float> floats_of(const at::Tensor& block) {
    return {block.data_ptr<float>(), static_cast<size_t>(block.numel())};
}

}  // namespace

void prepare_library(int threads) {
    at::set_num_threads(threads);
    // The BLAS behind it has threads of its own, which spin while they wait.
    using SetThreads = void (*)(int);
    if (auto* set_threads = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")))
        set_threads(threads);
    static std::once_flag once;  // libtorch takes this number a single time
    std::call_once(once, [] { at::set_num_interop_threads(1); });
    at::globalContext().setDeterministicAlgorithms(true, true);
}

void TorchNetwork::keep(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers) {
    torch::NoGradGuard no_gradient;
    parameters_ = in_one_block(parameters);
    buffers_ = in_one_block(buffers);
    gradients_and_loss_ = at::zeros({parameters_.numel() + 1});
    gradients_ = gradients_and_loss_.narrow(0, 0, parameters_.numel());
    size_t start = 0;
    for (at::Tensor& parameter : parameters) {
        const auto count = static_cast<size_t>(parameter.numel());
        parameter.mutable_grad() =
            gradients_.narrow(0, static_cast<int64_t>(start), parameter.numel()).view(parameter.sizes());
        layers_.push_back({.start = start, .count = count, .is_scaled = parameter.dim() > 1});
        start += count;
    }
    tensors_ = std::move(parameters);
}

void TorchNetwork::seed_training(uint64_t seed) {
    torch::manual_seed(seed);
}

std::span<float> TorchNetwork::parameters() {
    return floats_of(parameters_);
}

std::span<float> TorchNetwork::gradients_and_loss() {
    return floats_of(gradients_and_loss_);
}

std::span<float> TorchNetwork::buffers() {
    return floats_of(buffers_);
}

void TorchNetwork::compute_gradients(const Batch& batch) {
    gradients_.zero_();
    at::Tensor mean = loss(forward(batch, true), batch);
    // First, since the loss is added up with the last layer's gradients while the others are computed.
    gradients_and_loss().back() = mean.item<float>();
    mean.backward();
}

// As torch's DistributedDataParallel: a hook on the node that adds a parameter's gradient to what is there. It runs
// once in a backward pass, after the last addition.
void TorchNetwork::report_gradients(std::function<void(size_t)> ready) {
    ready_ = std::move(ready);
    if (!accumulators_.empty()) return;
    for (size_t layer = 0; layer < tensors_.size(); ++layer) {
        auto accumulator = torch::autograd::impl::grad_accumulator(tensors_[layer]);
        accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, layer](const torch::autograd::variable_list& outputs,
                          const torch::autograd::variable_list&) {
                if (ready_) ready_(layer);
                return outputs;
            }));
        accumulators_.push_back(std::move(accumulator));
    }
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
