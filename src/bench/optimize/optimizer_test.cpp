#include "bench/optimize/optimizer.h"

#include "bench/optimize/loops.h"

#include <cmath>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::HasSubstr;
using Values = std::vector<float>;

const std::vector<Layer> kOne = {{.start = 0, .count = 2}};

// The parameters after a step with each of these gradients.
Values after(const OptimizerSettings& settings, Values parameters, const std::vector<Values>& gradients,
             double rate, const std::vector<Layer>& layers = kOne) {
    Optimizer optimizer(settings, layers);
    for (const Values& gradient : gradients) optimizer.step(parameters, gradient, rate);
    return parameters;
}

TEST(bench, optimizer_sgd_keeps_a_velocity) {
    // v = 1, 0.9 + 1 = 1.9; w = 2 - 0.1 (1 + 1.9).
    const Values moved = after({.method = Method::kSgd}, {2, 0}, {{1, 0}, {1, 0}}, 0.1);
    EXPECT_FLOAT_EQ(moved[0], 1.71F);
    EXPECT_EQ(moved[1], 0);
    // v = 1 + 0.5 * 2 = 2.
    EXPECT_FLOAT_EQ(after({.method = Method::kSgd, .weight_decay = 0.5}, {2, 0}, {{1, 0}}, 0.1)[0], 1.8F);
}

TEST(bench, optimizer_adam_corrects_its_moments) {
    const OptimizerSettings adam{.method = Method::kAdam, .epsilon = 0};
    // In the first step m' = g and v' = g^2: a step of the rate, whatever the gradient.
    EXPECT_NEAR(after(adam, {1, 1}, {{0.001F, -50}}, 0.1)[0], 0.9, 1e-6);
    EXPECT_NEAR(after(adam, {1, 1}, {{0.001F, -50}}, 0.1)[1], 1.1, 1e-6);
    // Second step with g = 1, then 3: m = 0.9 0.1 + 0.1 3 = 0.39, m' = 0.39 / 0.19; v = 0.999 0.001 + 0.001 9
    // = 0.009999, v' = 0.009999 / 0.001999.
    const double second = 0.39 / 0.19 / std::sqrt(0.009999 / 0.001999);
    EXPECT_NEAR(after(adam, {1, 1}, {{1, 1}, {3, 3}}, 0.1)[0], 0.9 - 0.1 * second, 1e-6);
    // A large epsilon: 1 / (1 + 1).
    EXPECT_NEAR(after({.method = Method::kAdam, .epsilon = 1}, {1, 1}, {{1, 1}}, 0.1)[0], 0.95, 1e-6);
}

TEST(bench, optimizer_adam_adds_decay_to_the_gradient_and_adamw_does_not) {
    // Adam divides the decay away with the gradient; AdamW takes 0.1 * 0.5 * 4 beside its step.
    OptimizerSettings settings{.method = Method::kAdam, .epsilon = 0, .weight_decay = 0.5};
    EXPECT_NEAR(after(settings, {4, 4}, {{1, 1}}, 0.1)[0], 3.9, 1e-6);
    settings.method = Method::kAdamW;
    EXPECT_NEAR(after(settings, {4, 4}, {{1, 1}}, 0.1)[0], 4 - 0.1 * 0.5 * 4 - 0.1, 1e-6);
}

TEST(bench, optimizer_lars_scales_each_layer) {
    // |w| = 5, |g| = 10: l = 0.01 * 5 / (10 + 0.1 * 5); v = l (g + 0.1 w).
    const OptimizerSettings lars{.method = Method::kLars, .weight_decay = 0.1, .trust_coefficient = 0.01};
    const double local = 0.01 * 5 / 10.5;
    Values moved = after(lars, {3, 4}, {{6, 8}}, 2);
    EXPECT_NEAR(moved[0], 3 - 2 * local * (6 + 0.3), 1e-6);
    EXPECT_NEAR(moved[1], 4 - 2 * local * (8 + 0.4), 1e-6);
    // A layer that is not scaled: as SGD without decay.
    moved = after(lars, {3, 4, 1}, {{6, 8, 0.5F}}, 2,
                  {{.start = 0, .count = 2}, {.start = 2, .count = 1, .is_scaled = false}});
    EXPECT_NEAR(moved[0], 3 - 2 * local * (6 + 0.3), 1e-6);
    EXPECT_FLOAT_EQ(moved[2], 0);
    // Momentum keeps what a step was worth when it was taken.
    moved = after({.method = Method::kLars, .momentum = 0.5, .trust_coefficient = 0.01}, {3, 4},
                  {{6, 8}, {0, 0}}, 2);
    EXPECT_NEAR(moved[0], 3 - 2 * 0.01 * 0.5 * 6 * 1.5, 1e-6);
    EXPECT_FLOAT_EQ(after(lars, {0, 0}, {{1, 1}}, 2)[0], -2) << "no ratio for weights of 0";
}

TEST(bench, optimizer_lamb_moves_a_layer_by_its_length) {
    const OptimizerSettings lamb{.method = Method::kLamb, .epsilon = 0};
    // r = (1, -1) of length sqrt(2), |w| = 5.
    Values moved = after(lamb, {3, 4}, {{0.5F, -20}}, 0.1);
    EXPECT_NEAR(moved[0], 3 - 0.1 * 5 / std::sqrt(2.0), 1e-6);
    EXPECT_NEAR(moved[1], 4 + 0.1 * 5 / std::sqrt(2.0), 1e-6);
    // With decay r = (1 + 0.5 * 3, -1 + 0.5 * 4).
    OptimizerSettings decaying = lamb;
    decaying.weight_decay = 0.5;
    moved = after(decaying, {3, 4}, {{0.5F, -20}}, 0.1);
    EXPECT_NEAR(moved[0], 3 - 0.1 * 5 / std::hypot(2.5, 1.0) * 2.5, 1e-6);
    EXPECT_NEAR(moved[1], 4 - 0.1 * 5 / std::hypot(2.5, 1.0) * 1.0, 1e-6);
    // Not scaled: Adam's step.
    moved = after(decaying, {3, 4}, {{0.5F, -20}}, 0.1, {{.start = 0, .count = 2, .is_scaled = false}});
    EXPECT_NEAR(moved[0], 2.9, 1e-6);
}

TEST(bench, optimizer_lamb_cuts_a_gradient_over_all_layers) {
    OptimizerSettings lamb{.method = Method::kLamb, .epsilon = 1};
    const std::vector<Layer> two = {{.start = 0, .count = 1}, {.start = 1, .count = 1}};
    const Values free = after(lamb, {1, 2}, {{0.6F, 0.8F}}, 0.1, two);
    lamb.maximum_gradient_norm = 1;
    EXPECT_EQ(after(lamb, {1, 2}, {{0.6F, 0.8F}}, 0.1, two), free) << "of length 1 already";
    const Values cut = after(lamb, {1, 2}, {{60, 80}}, 0.1, two);
    EXPECT_NEAR(cut[0], free[0], 1e-6);
    EXPECT_NEAR(cut[1], free[1], 1e-6);
}

// The loops' vector parts and rests, against a formula in double for each element.
TEST(bench, optimizer_moves_every_element_of_any_count) {
    for (Method method : {Method::kSgd, Method::kAdam, Method::kAdamW, Method::kLars, Method::kLamb})
        for (size_t count : {1, 7, 8, 33}) {
            Values parameters(count), gradients(count), one(1), slope(1);
            for (size_t i = 0; i < count; ++i) {
                parameters[i] = static_cast<float>(i) - 3.5F;
                gradients[i] = 1.0F / static_cast<float>(i + 1);
            }
            // Without ratios each element moves as if it were alone.
            const std::vector<Layer> whole = {{.start = 0, .count = count, .is_scaled = false}};
            const std::vector<Layer> alone = {{.start = 0, .count = 1, .is_scaled = false}};
            const Values moved = after({.method = method}, parameters, {gradients, gradients}, 0.1, whole);
            for (size_t i = 0; i < count; ++i) {
                slope[0] = gradients[i];
                one[0] = parameters[i];
                EXPECT_EQ(after({.method = method}, one, {slope, slope}, 0.1, alone)[0], moved[i])
                    << name_of(method) << " " << count << " " << i;
            }
        }
}

TEST(bench, optimizer_goes_on_from_its_state) {
    for (std::string_view name : method_names()) {
        const OptimizerSettings settings{.method = *method_named(name), .weight_decay = 0.01};
        const Values straight = after(settings, {3, 4}, {{1, 2}, {2, 1}, {0.5F, 1}}, 0.1);
        Optimizer first(settings, kOne), second(settings, kOne);
        Values parameters = {3, 4};
        first.step(parameters, Values{1, 2}, 0.1);
        first.step(parameters, Values{2, 1}, 0.1);
        std::ranges::copy(first.state(), second.state().begin());
        second.set_steps(first.steps());
        second.step(parameters, Values{0.5F, 1}, 0.1);
        EXPECT_EQ(parameters, straight) << name;
    }
}

TEST(bench, optimizer_norm_is_that_of_all_values) {
    Values values(21, 2);
    EXPECT_DOUBLE_EQ(norm_of(values.data(), values.size()), std::sqrt(84.0));
    EXPECT_EQ(norm_of(values.data(), 0), 0);
}

TEST(bench, optimizer_unknown_name_is_told_the_nearest) {
    auto method = method_named("lamp");
    ASSERT_FALSE(method);
    EXPECT_EQ(method.error().exit_status(), 2);
    EXPECT_THAT(method.error().render(), HasSubstr("did you mean \"lamb\"?"));
    EXPECT_EQ(logged_name_of(Method::kAdamW), "AdamW");
}

}  // namespace
}  // namespace belay::bench
