// How parameters move along their gradients. Everything is a flat array of float32; layers are ranges of it,
// which only the layer-wise methods (LARS, LAMB) look at.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belay::bench {

enum class Method { kSgd, kAdam, kAdamW, kLars, kLamb };

// A tensor within the flat arrays.
struct Layer {
    size_t start = 0, count = 0;
    // Whether LARS and LAMB scale its step and let its weights decay. Not for biases and the parameters of
    // norms, as You et al. do (2017, section 5; 2020, section 4).
    bool is_scaled = true;
};

// Those that a method does not have are not looked at.
struct OptimizerSettings {
    Method method = Method::kSgd;
    double momentum = 0.9;              // SGD, LARS
    double beta1 = 0.9, beta2 = 0.999;  // Adam, AdamW, LAMB
    double epsilon = 1e-8;              // likewise
    double weight_decay = 0;            // lambda; of SGD and Adam it is added to the gradient (L2)
    double trust_coefficient = 0.001;   // LARS: eta
    double maximum_gradient_norm = 0;   // LAMB: a longer gradient, over all layers, is cut to it; 0: never
};

// "sgd", "adam", "adamw", "lars", "lamb".
std::span<const std::string_view> method_names();
// Errors: kBadInput, with the nearest name.
core::Result<Method> method_named(std::string_view name);
std::string_view name_of(Method method);
// As logs of MLPerf HPC write it: "sgd", "Adam", "AdamW", "LARS", "LAMB".
std::string_view logged_name_of(Method method);

// With g the gradient, w the parameter, gamma the rate and t the number of the step from 1:
//   SGD    v = momentum v + (g + lambda w);  w -= gamma v
//   Adam   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  w -= gamma m' / (sqrt(v') + epsilon),
//          m' = m / (1 - beta1^t), v' = v / (1 - beta2^t)     Kingma and Ba, 2015, algorithm 1
//   AdamW  likewise, and w -= gamma lambda w                  Loshchilov and Hutter, 2019, algorithm 2
//   LARS   l = eta |w| / (|g| + lambda |w|);  v = momentum v + gamma l (g + lambda w);  w -= v
//                                                             You, Gitman and Ginsburg, 2017, algorithm 1
//   LAMB   r = m' / (sqrt(v') + epsilon) + lambda w;  w -= gamma |w| / |r| r
//                                                             You et al., 2020, algorithm 2, phi(z) = z
// Where a norm is 0, LARS and LAMB take 1 for the ratio of norms. The bits depend on neither the CPU nor the
// number of threads.
class Optimizer {
  public:
    // `layers` one after the other from 0, without gaps.
    Optimizer(const OptimizerSettings& settings, std::vector<Layer> layers);

    const OptimizerSettings& settings() const { return settings_; }
    // Both of them as long as the layers together.
    void step(std::span<float> parameters, std::span<const float> gradients, double rate);

    // What it remembers, for a checkpoint: one or two values for each parameter, and the steps done.
    std::span<float> state() { return state_; }
    int64_t steps() const { return steps_; }
    void set_steps(int64_t steps) { steps_ = steps; }

  private:
    void step_layer(const Layer& layer, float* parameters, const float* gradients, double rate, double scale);
    float* first_moment(const Layer& layer) { return state_.data() + layer.start; }
    float* second_moment(const Layer& layer) { return state_.data() + size_ + layer.start; }

    OptimizerSettings settings_;
    std::vector<Layer> layers_;
    size_t size_ = 0;
    std::vector<float> state_;
    std::vector<float> update_;  // LAMB's r of one layer
    int64_t steps_ = 0;
};

}  // namespace belay::bench
