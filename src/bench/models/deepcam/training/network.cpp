#include "bench/models/deepcam/training/network.h"

#include "bench/models/deepcam/kernels.h"
#include "bench/train/torch_network.h"
#include "core/parallel.h"

#include <algorithm>
#include <cmath>
#include <vector>

// Not torch/torch.h, which costs the compiler twice as long.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>

#include <torch/csrc/autograd/custom_function.h>

namespace belay::bench::deepcam {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

NormShape norm_shape(const at::Tensor& images, int64_t group) {
    return {.samples = static_cast<size_t>(images.size(0)),
            .channels = static_cast<size_t>(images.size(1)),
            .cells = static_cast<size_t>(images.size(2) * images.size(3)),
            .group = static_cast<size_t>(group)};
}

// work(first, last) over all channels, in the library's number of threads where that is worth starting them.
template <typename Work>
void over_channels(const NormShape& shape, Work work) {
    constexpr size_t kWorthThreads = size_t{1} << 22;  // values: some milliseconds of one thread
    const auto threads = static_cast<size_t>(std::max(at::get_num_threads(), 1));
    if (threads == 1 || shape.samples * shape.channels * shape.cells < kWorthThreads)
        return work(size_t{0}, shape.channels);
    // It cannot fail: the work does not.
    (void)core::in_parallel(threads, threads, [&](size_t part) -> core::Result<> {
        work(shape.channels * part / threads, shape.channels * (part + 1) / threads);
        return {};
    });
}

struct NormStatistics {
    at::Tensor means, variances;  // [groups][channels]
};

// normalize_forward and normalize_backward as a function that libtorch differentiates.
class Normalize : public torch::autograd::Function<Normalize> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& factors,
                              const at::Tensor& offsets, int64_t group, bool is_rectified,
                              NormStatistics* statistics) {
        const at::Tensor in = input.contiguous();
        const NormShape shape = norm_shape(in, group);
        at::Tensor out = at::empty_like(in);
        at::Tensor means = at::empty({static_cast<int64_t>(shape.groups()), in.size(1)}, in.options());
        at::Tensor variances = at::empty_like(means);
        over_channels(shape, [&](size_t first, size_t last) {
            normalize_forward(in.data_ptr<float>(), shape, first, last, factors.data_ptr<float>(),
                              offsets.data_ptr<float>(), kNormEpsilon, is_rectified, out.data_ptr<float>(),
                              means.data_ptr<float>(), variances.data_ptr<float>());
        });
        context->save_for_backward({in, out, factors, means, variances});
        context->saved_data["group"] = group;
        context->saved_data["is_rectified"] = is_rectified;
        *statistics = {means, variances};
        return out;
    }

    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        const auto saved = context->get_saved_variables();
        const at::Tensor &in = saved[0], &out = saved[1], &factors = saved[2], &means = saved[3],
                         &variances = saved[4];
        const bool is_rectified = context->saved_data["is_rectified"].toBool();
        const NormShape shape = norm_shape(in, context->saved_data["group"].toInt());
        const at::Tensor out_gradient = gradients[0].contiguous();
        at::Tensor in_gradient = at::empty_like(in);
        at::Tensor factor_gradients = at::empty_like(factors), offset_gradients = at::empty_like(factors);
        over_channels(shape, [&](size_t first, size_t last) {
            normalize_backward(in.data_ptr<float>(), out.data_ptr<float>(), out_gradient.data_ptr<float>(),
                               shape, first, last, factors.data_ptr<float>(), kNormEpsilon, is_rectified,
                               means.data_ptr<float>(), variances.data_ptr<float>(),
                               in_gradient.data_ptr<float>(), factor_gradients.data_ptr<float>(),
                               offset_gradients.data_ptr<float>());
        });
        return {in_gradient, factor_gradients, offset_gradients, {}, {}, {}};
    }
};

// What stands behind a norm in prediction.
struct Running {
    at::Tensor mean, variance;
};

// Towards the mean over the batch's groups of their means and variances, the latter with M - 1 in the denominator as
// PyTorch's. It is linear, so the mean over ranks is what one rank with all of their samples has.
void follow(const Running& running, const NormStatistics& statistics, const NormShape& shape) {
    auto* mean = running.mean.data_ptr<float>();
    auto* variance = running.variance.data_ptr<float>();
    const auto* means = statistics.means.data_ptr<float>();
    const auto* variances = statistics.variances.data_ptr<float>();
    for (size_t channel = 0; channel < shape.channels; ++channel) {
        double mean_sum = 0, variance_sum = 0;
        for (size_t group = 0; group < shape.groups(); ++group) {
            const size_t samples = std::min(shape.group, shape.samples - group * shape.group);
            const auto count = static_cast<double>(samples * shape.cells);
            mean_sum += means[group * shape.channels + channel];
            variance_sum += variances[group * shape.channels + channel] * count / std::max(count - 1, 1.0);
        }
        const double share = kNormMomentum / static_cast<double>(shape.groups());
        mean[channel] = static_cast<float>((1 - kNormMomentum) * mean[channel] + share * mean_sum);
        variance[channel] =
            static_cast<float>((1 - kNormMomentum) * variance[channel] + share * variance_sum);
    }
}

// Deeplab's operations on tensors [samples][channels][y][x]. Takes parameters and norms in the order of Survey.
class TensorOperations {
  public:
    using Value = at::Tensor;

    TensorOperations(const std::vector<at::Tensor>& parameters, const std::vector<Running>& running,
                     int64_t norm_samples, bool is_training)
        : next_parameter_(parameters.begin()),
          next_running_(running.begin()),
          norm_samples_(norm_samples),
          is_training_(is_training) {}

    int channels_of(const at::Tensor& value) const { return static_cast<int>(value.size(1)); }

    at::Tensor convolve(const at::Tensor& in, const Convolution& convolution) {
        const at::Tensor& weights = *next_parameter_++;
        const at::Tensor bias = convolution.has_bias ? *next_parameter_++ : at::Tensor();
        const int64_t padding = int64_t{convolution.dilation} * (convolution.kernel - 1) / 2;
        if (convolution.is_transposed)
            return at::conv_transpose2d(in, weights, bias, convolution.stride, padding,
                                        convolution.stride - 1);
        return at::conv2d(in, weights, bias, convolution.stride, padding, convolution.dilation,
                          convolution.is_depthwise ? in.size(1) : 1);
    }

    at::Tensor normalize(const at::Tensor& in, bool is_rectified) {
        const at::Tensor& factors = *next_parameter_++;
        const at::Tensor& offsets = *next_parameter_++;
        const Running& running = *next_running_++;
        if (!is_training_) {
            const at::Tensor out = at::batch_norm(in, factors, offsets, running.mean, running.variance, false,
                                                  kNormMomentum, kNormEpsilon, false);
            return is_rectified ? at::relu(out) : out;
        }
        NormStatistics statistics;
        at::Tensor out = Normalize::apply(in, factors, offsets, norm_samples_, is_rectified, &statistics);
        follow(running, statistics, norm_shape(in, norm_samples_));
        return out;
    }

    at::Tensor add(const at::Tensor& a, const at::Tensor& b, bool is_rectified) {
        const at::Tensor sum = a + b;
        return is_rectified ? at::relu(sum) : sum;
    }
    at::Tensor concatenate(const std::vector<at::Tensor>& all) { return at::cat(all, 1); }
    at::Tensor average(const at::Tensor& in) { return in.mean({2, 3}, true); }
    at::Tensor scale(const at::Tensor& in) {
        const at::Tensor& factors = *next_parameter_++;
        const at::Tensor& offsets = *next_parameter_++;
        return at::relu(factors * in + offsets);
    }
    at::Tensor spread(const at::Tensor& in, const at::Tensor& like) {
        return in.expand({in.size(0), in.size(1), like.size(2), like.size(3)});
    }

  private:
    std::vector<at::Tensor>::const_iterator next_parameter_;
    std::vector<Running>::const_iterator next_running_;
    int64_t norm_samples_;
    bool is_training_;
};

void draw(const Parameter& parameter, uint64_t seed, uint32_t number, float* values) {
    RandomStream random(seed, Split::kWeights, number, 0);
    const int64_t count = parameter.count();
    switch (parameter.kind) {
        case Parameter::Kind::kConstant:
            std::fill_n(values, count, static_cast<float>(parameter.spread));
            return;
        case Parameter::Kind::kUniform:
            for (int64_t i = 0; i < count; ++i)
                values[i] = static_cast<float>(parameter.spread * (2 * random.next_uniform() - 1));
            return;
        case Parameter::Kind::kNormal:
            for (int64_t i = 0; i < count; i += 2) {
                const auto [first, second] = random.next_gaussians();
                values[i] = static_cast<float>(parameter.spread * first);
                if (i + 1 < count) values[i + 1] = static_cast<float>(parameter.spread * second);
            }
    }
}

class DeepCam : public TorchNetwork {
  public:
    DeepCam(const Size& size, uint64_t seed) : size_(size) {
        const Survey plan = survey(size.architecture, size.image);
        for (const Parameter& parameter : plan.parameters)
            parameters_.push_back(at::empty(parameter.sizes).set_requires_grad(true));
        std::vector<at::Tensor> buffers;
        for (int channels : plan.norms) {
            running_.push_back({at::zeros({channels}), at::ones({channels})});
            buffers.insert(buffers.end(), {running_.back().mean, running_.back().variance});
        }
        keep(parameters_, buffers);
        for (uint32_t i = 0; i < parameters_.size(); ++i)
            draw(plan.parameters[i], seed, i, parameters_[i].data_ptr<float>());
        for (double weight : deepcam::class_weights(size)) weights_.push_back(static_cast<float>(weight));
    }

    void predict(const Batch& batch, std::vector<float>& predictions) override {
        const at::NoGradGuard no_gradient;
        const at::Tensor classes = forward(batch, false).argmax(1).to(at::kFloat).contiguous();
        predictions.assign(classes.data_ptr<float>(), classes.data_ptr<float>() + classes.numel());
    }

  protected:
    at::Tensor forward(const Batch& batch, bool training) override {
        TensorOperations operations(parameters_, running_, size_.norm_samples, training);
        return Deeplab<TensorOperations>(size_.architecture, operations)
            .logits(view_of(batch.inputs, {static_cast<int64_t>(batch.samples), size_.image.channels,
                                           size_.image.height, size_.image.width}));
    }

    at::Tensor loss(const at::Tensor& logits, const Batch& batch) override {
        const at::Tensor targets =
            view_of(batch.targets, {logits.size(0), logits.size(2), logits.size(3)}).to(at::kLong);
        const at::Tensor sum = at::nll_loss2d(at::log_softmax(logits, 1), targets,
                                              view_of(weights_, {kClasses}), at::Reduction::Sum);
        return sum / targets.numel();
    }

  private:
    Size size_;
    std::vector<at::Tensor> parameters_;
    std::vector<Running> running_;
    std::vector<float> weights_;  // of the classes
};

}  // namespace

std::unique_ptr<Network> make_network(const Size& size, uint64_t seed) {
    return std::make_unique<DeepCam>(size, seed);
}

}  // namespace belay::bench::deepcam
