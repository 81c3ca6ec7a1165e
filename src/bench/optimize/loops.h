// The loops over parameters: plain memory, in place, each written so that the compiler vectorises it. Where a
// fused multiply-add is meant it is written as one, and is used on every CPU, so that bits are the same.
#pragma once

#include <cstddef>

namespace belay::bench {

// The square root of the sum of squares, added up in double in a fixed order.
double norm_of(const float* values, size_t count);

// velocity = momentum velocity + (gradient + decay parameter); parameter -= rate velocity, fused.
void sgd_loop(float* parameters, const float* gradients, float* velocity, size_t count, double rate,
              double momentum, double decay);

// velocity = momentum velocity + rate (gradient + decay parameter); parameter -= velocity.
void lars_loop(float* parameters, const float* gradients, float* velocity, size_t count, double rate,
               double momentum, double decay);

// What the moments of a gradient need: first = beta1 first + (1 - beta1) g, second likewise with g^2, where g
// is scale * gradient + decay * parameter.
struct MomentFactors {
    float beta1, beta2, rest1, rest2;  // rest: 1 - beta, whose digits a float of beta has lost
    float correction1, correction2;    // 1 / (1 - beta^t)
    float epsilon;
    float scale, decay;
};
// parameter = keep parameter - rate m' / (sqrt(v') + epsilon).
void adam_loop(float* parameters, const float* gradients, float* first, float* second, size_t count,
               const MomentFactors& factors, double rate, double keep);
// update = m' / (sqrt(v') + epsilon) + weight_decay parameter.
void lamb_loop(const float* parameters, const float* gradients, float* first, float* second, float* update,
               size_t count, const MomentFactors& factors, double weight_decay);
// parameter -= rate update.
void move_loop(float* parameters, const float* update, size_t count, double rate);

}  // namespace belay::bench
