#include "bench/optimize/loops.h"

#include <array>
#include <cmath>

// A loop for any CPU, and the same compiled with AVX2 and FMA, of which the CPU chooses one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BELAY_FOR_THIS_CPU(name, arguments, ...)                                                  \
    __attribute__((target("avx2,fma"))) void name##_wide arguments {                              \
        name##_body(__VA_ARGS__);                                                                 \
    }                                                                                             \
    void name##_chosen arguments {                                                                \
        static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); \
        if (wide) return name##_wide(__VA_ARGS__);                                                \
        name##_body(__VA_ARGS__);                                                                 \
    }
#else
#define BELAY_FOR_THIS_CPU(name, arguments, ...) \
    void name##_chosen arguments {               \
        name##_body(__VA_ARGS__);                \
    }
#endif
#define BELAY_BODY inline __attribute__((always_inline)) void

namespace belay::bench {

namespace {

BELAY_BODY sgd_body(float* __restrict parameters, const float* __restrict gradients,
                    float* __restrict velocity, size_t count, float rate, float momentum, float decay) {
    for (size_t i = 0; i < count; ++i) {
        const float gradient = gradients[i] + decay * parameters[i];
        velocity[i] = momentum * velocity[i] + gradient;
        parameters[i] = __builtin_fmaf(velocity[i], -rate, parameters[i]);
    }
}
BELAY_FOR_THIS_CPU(sgd,
                   (float* __restrict parameters, const float* __restrict gradients,
                    float* __restrict velocity, size_t count, float rate, float momentum, float decay),
                   parameters, gradients, velocity, count, rate, momentum, decay)

BELAY_BODY lars_body(float* __restrict parameters, const float* __restrict gradients,
                     float* __restrict velocity, size_t count, float rate, float momentum, float decay) {
    for (size_t i = 0; i < count; ++i) {
        velocity[i] = momentum * velocity[i] + rate * (gradients[i] + decay * parameters[i]);
        parameters[i] -= velocity[i];
    }
}
BELAY_FOR_THIS_CPU(lars,
                   (float* __restrict parameters, const float* __restrict gradients,
                    float* __restrict velocity, size_t count, float rate, float momentum, float decay),
                   parameters, gradients, velocity, count, rate, momentum, decay)

// The corrected step of a parameter, after its moments have taken the gradient.
inline __attribute__((always_inline)) float moment_step(float gradient, float& first, float& second,
                                                        const MomentFactors& by) {
    first = by.beta1 * first + by.rest1 * gradient;
    second = by.beta2 * second + by.rest2 * gradient * gradient;
    return first * by.correction1 / (__builtin_sqrtf(second * by.correction2) + by.epsilon);
}

BELAY_BODY adam_body(float* __restrict parameters, const float* __restrict gradients, float* __restrict first,
                     float* __restrict second, size_t count, MomentFactors by, float rate, float keep) {
    for (size_t i = 0; i < count; ++i) {
        const float gradient = by.scale * gradients[i] + by.decay * parameters[i];
        parameters[i] = keep * parameters[i] - rate * moment_step(gradient, first[i], second[i], by);
    }
}
BELAY_FOR_THIS_CPU(adam,
                   (float* __restrict parameters, const float* __restrict gradients, float* __restrict first,
                    float* __restrict second, size_t count, MomentFactors by, float rate, float keep),
                   parameters, gradients, first, second, count, by, rate, keep)

BELAY_BODY lamb_body(const float* __restrict parameters, const float* __restrict gradients,
                     float* __restrict first, float* __restrict second, float* __restrict update,
                     size_t count, MomentFactors by, float weight_decay) {
    for (size_t i = 0; i < count; ++i)
        update[i] =
            moment_step(by.scale * gradients[i], first[i], second[i], by) + weight_decay * parameters[i];
}
BELAY_FOR_THIS_CPU(lamb,
                   (const float* __restrict parameters, const float* __restrict gradients,
                    float* __restrict first, float* __restrict second, float* __restrict update, size_t count,
                    MomentFactors by, float weight_decay),
                   parameters, gradients, first, second, update, count, by, weight_decay)

}  // namespace

double norm_of(const float* values, size_t count) {
    constexpr size_t kLanes = 8;
    std::array<double, kLanes> sums{};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (size_t lane = 0; lane < kLanes; ++lane)
            sums[lane] += static_cast<double>(values[i + lane]) * values[i + lane];
    for (; i < count; ++i) sums[i % kLanes] += static_cast<double>(values[i]) * values[i];
    double sum = 0;
    for (double lane : sums) sum += lane;
    return std::sqrt(sum);
}

void sgd_loop(float* parameters, const float* gradients, float* velocity, size_t count, double rate,
              double momentum, double decay) {
    sgd_chosen(parameters, gradients, velocity, count, static_cast<float>(rate), static_cast<float>(momentum),
               static_cast<float>(decay));
}

void lars_loop(float* parameters, const float* gradients, float* velocity, size_t count, double rate,
               double momentum, double decay) {
    lars_chosen(parameters, gradients, velocity, count, static_cast<float>(rate),
                static_cast<float>(momentum), static_cast<float>(decay));
}

void adam_loop(float* parameters, const float* gradients, float* first, float* second, size_t count,
               const MomentFactors& factors, double rate, double keep) {
    adam_chosen(parameters, gradients, first, second, count, factors, static_cast<float>(rate),
                static_cast<float>(keep));
}

void lamb_loop(const float* parameters, const float* gradients, float* first, float* second, float* update,
               size_t count, const MomentFactors& factors, double weight_decay) {
    lamb_chosen(parameters, gradients, first, second, update, count, factors,
                static_cast<float>(weight_decay));
}

void move_loop(float* parameters, const float* update, size_t count, double rate) {
    const auto by = static_cast<float>(rate);
    for (size_t i = 0; i < count; ++i) parameters[i] -= by * update[i];
}

}  // namespace belay::bench
