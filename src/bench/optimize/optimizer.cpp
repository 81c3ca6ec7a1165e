#include "bench/optimize/optimizer.h"

#include "bench/optimize/loops.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::bench {

namespace {

struct MethodRow {
    Method method;
    std::string_view name, logged_name;
    size_t moments;  // values that it remembers for each parameter
};
constexpr std::array kMethods = {
    MethodRow{Method::kSgd, "sgd", "sgd", 1},       MethodRow{Method::kAdam, "adam", "Adam", 2},
    MethodRow{Method::kAdamW, "adamw", "AdamW", 2}, MethodRow{Method::kLars, "lars", "LARS", 1},
    MethodRow{Method::kLamb, "lamb", "LAMB", 2},
};
constexpr auto kNames = [] {
    std::array<std::string_view, kMethods.size()> names;
    for (size_t i = 0; i < kMethods.size(); ++i) names[i] = kMethods[i].name;
    return names;
}();

const MethodRow& row_of(Method method) {
    return *std::ranges::find(kMethods, method, &MethodRow::method);
}

MomentFactors factors_of(const OptimizerSettings& settings, int64_t step, double scale, double decay) {
    auto correction = [&](double beta) {
        return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(step))));
    };
    return {.beta1 = static_cast<float>(settings.beta1),
            .beta2 = static_cast<float>(settings.beta2),
            .rest1 = static_cast<float>(1 - settings.beta1),
            .rest2 = static_cast<float>(1 - settings.beta2),
            .correction1 = correction(settings.beta1),
            .correction2 = correction(settings.beta2),
            .epsilon = static_cast<float>(settings.epsilon),
            .scale = static_cast<float>(scale),
            .decay = static_cast<float>(decay)};
}

}  // namespace

std::span<const std::string_view> method_names() {
    return kNames;
}

core::Result<Method> method_named(std::string_view name) {
    for (const MethodRow& row : kMethods)
        if (row.name == name) return row.method;
    auto meant = core::nearest(name, kNames);
    return core::bad_input("no optimizer \"{}\"", name)
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant) : "it is sgd, adam, adamw, lars or lamb");
}

std::string_view name_of(Method method) {
    return row_of(method).name;
}

std::string_view logged_name_of(Method method) {
    return row_of(method).logged_name;
}

Optimizer::Optimizer(const OptimizerSettings& settings, std::vector<Layer> layers)
    : settings_(settings), layers_(std::move(layers)) {
    for (const Layer& layer : layers_) size_ += layer.count;
    state_.resize(size_ * row_of(settings.method).moments);
}

void Optimizer::step(std::span<float> parameters, std::span<const float> gradients, double rate) {
    ++steps_;
    double scale = 1;
    if (settings_.method == Method::kLamb && settings_.maximum_gradient_norm > 0)
        if (double norm = norm_of(gradients.data(), size_); norm > settings_.maximum_gradient_norm)
            scale = settings_.maximum_gradient_norm / norm;
    const bool layer_wise = settings_.method == Method::kLars || settings_.method == Method::kLamb;
    if (!layer_wise)
        return step_layer({.start = 0, .count = size_}, parameters.data(), gradients.data(), rate, scale);
    for (const Layer& layer : layers_)
        step_layer(layer, parameters.data() + layer.start, gradients.data() + layer.start, rate, scale);
}

void Optimizer::step_layer(const Layer& layer, float* parameters, const float* gradients, double rate,
                           double scale) {
    const size_t count = layer.count;
    const double decay = settings_.weight_decay;
    switch (settings_.method) {
        case Method::kSgd:
            return sgd_loop(parameters, gradients, first_moment(layer), count, rate, settings_.momentum,
                            decay);
        case Method::kAdam:
            return adam_loop(parameters, gradients, first_moment(layer), second_moment(layer), count,
                             factors_of(settings_, steps_, scale, decay), rate, 1);
        case Method::kAdamW:
            return adam_loop(parameters, gradients, first_moment(layer), second_moment(layer), count,
                             factors_of(settings_, steps_, scale, 0), rate, 1 - rate * decay);
        case Method::kLars: {
            const double weights = norm_of(parameters, count), slope = norm_of(gradients, count);
            const bool scaled = layer.is_scaled && weights > 0 && slope > 0;
            const double ratio =
                scaled ? settings_.trust_coefficient * weights / (slope + decay * weights) : 1;
            return lars_loop(parameters, gradients, first_moment(layer), count, rate * ratio,
                             settings_.momentum, layer.is_scaled ? decay : 0);
        }
        case Method::kLamb: {
            update_.resize(std::max(update_.size(), count));
            lamb_loop(parameters, gradients, first_moment(layer), second_moment(layer), update_.data(), count,
                      factors_of(settings_, steps_, scale, 0), layer.is_scaled ? decay : 0);
            const double weights = norm_of(parameters, count), length = norm_of(update_.data(), count);
            const bool scaled = layer.is_scaled && weights > 0 && length > 0;
            return move_loop(parameters, update_.data(), count, rate * (scaled ? weights / length : 1));
        }
    }
}

}  // namespace belay::bench
