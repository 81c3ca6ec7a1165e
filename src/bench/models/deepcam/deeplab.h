// DeepLabv3+ as DeepCAM has it, written once: what walks it decides whether shapes are counted (architecture.h)
// or values computed (training/network.cpp). Source: mlcommons/hpc, deepcam/src/deepCam/architecture; Chen et
// al., "Encoder-Decoder with Atrous Separable Convolution for Semantic Image Segmentation", 2018.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace belay::bench::deepcam {

inline constexpr int kClasses = 3;  // background, cyclone, river

// How weights are drawn: normal with variance 2 / fan-in (He et al., 2015), or as PyTorch does by default, even within
// 1 / sqrt(fan-in).
enum class Start { kHeNormal, kUniform };

struct Convolution {
    int out = 0;
    int kernel = 1;
    int stride = 1;
    int dilation = 1;
    bool is_depthwise = false;   // one kernel for each channel
    bool is_transposed = false;  // a deconvolution: the stride widens
    bool has_bias = false;
    Start start = Start::kHeNormal;
};

// A step of the encoder.
enum class UnitKind {
    kConvolution,  // 3x3, norm, ReLU
    kSeparable,    // 3x3 by channel, 1x1 across channels, norm, ReLU
    kBlock,        // several separables and a path around them
};
struct Unit {
    UnitKind kind = UnitKind::kConvolution;
    int out = 0;
    int stride = 1;
    int dilation = 1;
    // Of blocks.
    int separables = 0;        // each with a norm; one more without a norm where the stride is not 1
    bool grows_first = true;   // the first separable changes the channels; else the last one
    bool has_extra = false;    // one more without a norm although the stride is 1
    bool is_rectified = true;  // its sum
};

struct Architecture {
    std::span<const Unit> encoder;
    int low_level_unit = 0;          // whose output goes to the decoder as well
    int low_level_channels = 0;      // there
    std::span<const int> dilations;  // of the atrous spatial pyramid; 1 stands for a 1x1 convolution
    int pyramid_channels = 0;        // of each of its branches and of their projection
    int decoder_channels = 0;
    int deconvolutions_before = 0;  // each doubles the size: up to that of the low-level unit
    int deconvolutions_after = 0;   // up to full size
};

// Operations has a type Value (an image of channels) and
//   convolve(value, Convolution)   normalize(value, is_rectified)      add(value, value, is_rectified)
//   concatenate(values)            average(value): one cell            scale(value): a trained factor and offset by
//   spread(value, like)            channels_of(value)                  channel, rectified
template <typename Operations>
class Deeplab {
  public:
    using Value = typename Operations::Value;
    Deeplab(const Architecture& architecture, Operations& operations)
        : architecture_(architecture), operations_(operations) {}

    // kClasses logits for each cell of the input.
    Value logits(Value value) {
        Value low_level;
        for (size_t i = 0; i < architecture_.encoder.size(); ++i) {
            value = encode(value, architecture_.encoder[i]);
            if (static_cast<int>(i) == architecture_.low_level_unit) low_level = value;
        }
        return decode(pyramid(value), low_level);
    }

  private:
    Value separable(const Value& value, int out, int stride, int dilation) {
        const Value filtered = operations_.convolve(value, {.out = operations_.channels_of(value),
                                                            .kernel = 3,
                                                            .stride = stride,
                                                            .dilation = dilation,
                                                            .is_depthwise = true});
        return operations_.convolve(filtered, {.out = out});
    }

    Value encode(const Value& value, const Unit& unit) {
        if (unit.kind == UnitKind::kBlock) return block(value, unit);
        if (unit.kind == UnitKind::kSeparable)
            return operations_.normalize(separable(value, unit.out, unit.stride, unit.dilation), true);
        return operations_.normalize(
            operations_.convolve(
                value, {.out = unit.out, .kernel = 3, .stride = unit.stride, .dilation = unit.dilation}),
            true);
    }

    Value block(const Value& value, const Unit& unit) {
        const int in = operations_.channels_of(value);
        Value around = value;
        if (in != unit.out || unit.stride != 1)
            around = operations_.normalize(
                operations_.convolve(value, {.out = unit.out, .stride = unit.stride}), false);
        Value inner = value;
        for (int i = 0; i < unit.separables; ++i) {
            const bool is_last = i + 1 == unit.separables;
            const int out = unit.grows_first || is_last ? unit.out : in;
            inner = operations_.normalize(separable(inner, out, 1, unit.dilation), !is_last);
        }
        if (unit.stride != 1 || unit.has_extra) inner = separable(inner, unit.out, unit.stride, 1);
        return operations_.add(inner, around, unit.is_rectified);
    }

    // Atrous spatial pyramid pooling: the same cells seen at several distances, and the mean of all.
    Value pyramid(const Value& value) {
        const int out = architecture_.pyramid_channels;
        std::vector<Value> branches;
        for (int dilation : architecture_.dilations)
            branches.push_back(operations_.normalize(
                operations_.convolve(value,
                                     {.out = out, .kernel = dilation == 1 ? 1 : 3, .dilation = dilation}),
                true));
        const Value mean = operations_.scale(
            operations_.convolve(operations_.average(value), {.out = out, .start = Start::kUniform}));
        branches.push_back(operations_.spread(mean, value));
        return operations_.normalize(operations_.convolve(operations_.concatenate(std::move(branches)),
                                                          {.out = out, .start = Start::kUniform}),
                                     true);
    }

    Value deconvolve(const Value& value, int out) {
        return operations_.convolve(
            value, {.out = out, .kernel = 3, .stride = 2, .is_transposed = true, .start = Start::kUniform});
    }

    Value decode(Value value, const Value& low_level) {
        const int out = architecture_.decoder_channels;
        const Value details = operations_.normalize(
            operations_.convolve(low_level,
                                 {.out = architecture_.low_level_channels, .start = Start::kUniform}),
            true);
        for (int i = 0; i < architecture_.deconvolutions_before; ++i)
            value = operations_.normalize(deconvolve(value, out), true);
        value = operations_.concatenate({value, details});
        for (int i = 0; i < 2; ++i)
            value = operations_.normalize(
                operations_.convolve(value, {.out = out, .kernel = 3, .start = Start::kUniform}), true);
        value = operations_.convolve(value, {.out = out, .has_bias = true, .start = Start::kUniform});
        for (int i = 1; i < architecture_.deconvolutions_after; ++i)
            value = operations_.normalize(deconvolve(value, out), true);
        return deconvolve(value, kClasses);
    }

    const Architecture& architecture_;
    Operations& operations_;
};

}  // namespace belay::bench::deepcam
