#include "bench/models/deepcam/training/network.h"

#include "bench/models/deepcam/training/tiny_size_for_tests.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

Batch random_batch(const Size& size, int samples) {
    RandomStream random(3, Split::kTrain, 0, 0);
    const auto cells = static_cast<size_t>(samples * size.image.cells());
    Batch batch{.samples = static_cast<size_t>(samples), .inputs = {}, .targets = {}};
    batch.inputs.resize(cells * static_cast<size_t>(size.image.channels));
    batch.targets.resize(cells);
    for (float& value : batch.inputs) value = static_cast<float>(random.next_gaussians().first);
    for (float& value : batch.targets) value = static_cast<float>(random.next_below(kClasses));
    return batch;
}

double loss_of(Network& network, const Batch& batch) {
    network.compute_gradients(batch);
    return network.gradients_and_loss().back();
}

std::vector<float> gradients_of(Network& network, const Batch& batch) {
    network.compute_gradients(batch);
    const auto found = network.gradients_and_loss();
    return {found.begin(), found.end()};
}

TEST(bench_deepcam_network, has_as_many_parameters_as_its_definition_says) {
    for (const Size& size : {*size_named("mini"), tiny_size()})
        EXPECT_EQ(static_cast<int64_t>(make_network(size, 1)->parameters().size()), parameter_count(size));
}

TEST(bench_deepcam_network, is_decided_by_its_seed) {
    auto first = make_network(tiny_size(), 1), same = make_network(tiny_size(), 1),
         other = make_network(tiny_size(), 2);
    EXPECT_TRUE(std::ranges::equal(first->parameters(), same->parameters()));
    EXPECT_FALSE(std::ranges::equal(first->parameters(), other->parameters()));
}

TEST(bench_deepcam_network, starts_with_the_stated_spread) {
    const Size size = *size_named("mini");
    const Survey plan = survey(size.architecture, size.image);
    auto network = make_network(size, 1);
    size_t start = 0;
    for (const Parameter& parameter : plan.parameters) {
        const auto count = static_cast<size_t>(parameter.count());
        const std::span<float> weights = network->parameters().subspan(start, count);
        start += count;
        if (parameter.kind == Parameter::Kind::kConstant) {
            EXPECT_TRUE(std::ranges::all_of(
                weights, [&](float w) { return w == static_cast<float>(parameter.spread); }));
            continue;
        }
        if (count < 2000) continue;
        const double squares = std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
        const double expected =
            parameter.kind == Parameter::Kind::kNormal ? parameter.spread : parameter.spread / std::sqrt(3);
        EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), expected, 0.06 * expected);
    }
    EXPECT_EQ(start, network->parameters().size());
}

TEST(bench_deepcam_network, predicts_a_class_for_each_cell) {
    const Size size = tiny_size();
    const Batch batch = random_batch(size, 3);
    std::vector<float> predictions;
    make_network(size, 1)->predict(batch, predictions);
    ASSERT_EQ(predictions.size(), batch.targets.size());
    for (float value : predictions) EXPECT_TRUE(value == 0 || value == 1 || value == 2) << value;
}

// All logits alike: cross entropy ln 3 at each cell, times the weight of its class; the plain mean, not that over the sum
// of the weights.
TEST(bench_deepcam_network, loss_is_the_plain_mean_of_weighted_cross_entropies) {
    const Size size = tiny_size();
    auto network = make_network(size, 1);
    const Batch batch = random_batch(size, 2);
    const Survey plan = survey(size.architecture, size.image);
    std::ranges::fill(network->parameters().last(static_cast<size_t>(plan.parameters.back().count())), 0.0F);
    const auto weights = class_weights(size);
    double expected = 0;
    for (float target : batch.targets) expected += weights[static_cast<size_t>(target)] * std::log(3.0);
    EXPECT_NEAR(loss_of(*network, batch), expected / static_cast<double>(batch.targets.size()), 1e-5);
}

TEST(bench_deepcam_network, gradient_is_the_slope_of_the_loss) {
    const Size size = tiny_size();
    auto network = make_network(size, 1);
    const Batch batch = random_batch(size, 4);
    const std::vector<float> gradient = gradients_of(*network, batch);
    const std::span<float> parameters = network->parameters();
    const std::vector<float> original(parameters.begin(), parameters.end());

    // Along the gradient itself, so that every parameter takes part.
    const double length =
        std::sqrt(std::inner_product(gradient.begin(), gradient.end() - 1, gradient.begin(), 0.0));
    auto loss_at = [&](double distance) {
        for (size_t i = 0; i < parameters.size(); ++i)
            parameters[i] = original[i] + static_cast<float>(distance / length) * gradient[i];
        return loss_of(*network, batch);
    };
    constexpr double kDistance = 2e-3;
    EXPECT_NEAR((loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance), length, 0.02 * length);
    std::ranges::copy(original, parameters.begin());

    // And the steepest parameter of each tensor that has a part in it.
    for (const Layer& layer : network->layers()) {
        const auto first = gradient.begin() + static_cast<ptrdiff_t>(layer.start);
        const auto steepest = std::max_element(first, first + static_cast<ptrdiff_t>(layer.count),
                                               [](float a, float b) { return std::fabs(a) < std::fabs(b); });
        const auto place = static_cast<size_t>(steepest - gradient.begin());
        if (std::fabs(*steepest) < 0.02) continue;
        auto with = [&](float change) {
            parameters[place] = original[place] + change;
            const double loss = loss_of(*network, batch);
            parameters[place] = original[place];
            return loss;
        };
        EXPECT_NEAR((with(2e-3F) - with(-2e-3F)) / 4e-3, *steepest, 0.1 * std::fabs(*steepest)) << place;
    }
}

TEST(bench_deepcam_network, gradients_do_not_add_up_over_calls) {
    const Size size = tiny_size();
    auto network = make_network(size, 1);
    const Batch batch = random_batch(size, 2);
    EXPECT_EQ(gradients_of(*network, batch), gradients_of(*network, batch));
}

// What ranks do: the mean of the gradients of halves is the gradient of the whole, and the mean of their running
// statistics that of one rank.
TEST(bench_deepcam_network, halves_of_a_batch_are_the_batch) {
    const Size size = tiny_size();
    auto whole = make_network(size, 1), first = make_network(size, 1), second = make_network(size, 1);
    const Batch batch = random_batch(size, 4);
    Batch front{.samples = 2, .inputs = batch.inputs, .targets = batch.targets}, back = front;
    front.inputs.resize(batch.inputs.size() / 2);
    front.targets.resize(batch.targets.size() / 2);
    back.inputs.erase(back.inputs.begin(), back.inputs.begin() + static_cast<ptrdiff_t>(front.inputs.size()));
    back.targets.erase(back.targets.begin(),
                       back.targets.begin() + static_cast<ptrdiff_t>(front.targets.size()));
    for (int step = 0; step < 2; ++step) {
        const auto all = gradients_of(*whole, batch), a = gradients_of(*first, front),
                   b = gradients_of(*second, back);
        for (size_t i = 0; i < all.size(); ++i) ASSERT_NEAR((a[i] + b[i]) / 2, all[i], 1e-6) << i;
    }
    ASSERT_FALSE(whole->buffers().empty());
    for (size_t i = 0; i < whole->buffers().size(); ++i)
        ASSERT_NEAR((first->buffers()[i] + second->buffers()[i]) / 2, whole->buffers()[i], 1e-6) << i;
}

TEST(bench_deepcam_network, prediction_stands_on_running_statistics) {
    const Size size = tiny_size();
    auto network = make_network(size, 1);
    const Batch batch = random_batch(size, 4);
    const std::vector<float> before(network->buffers().begin(), network->buffers().end());
    std::vector<float> predictions, alone;
    network->predict(batch, predictions);
    EXPECT_TRUE(std::ranges::equal(before, network->buffers())) << "prediction leaves them as they are";
    network->compute_gradients(batch);
    EXPECT_FALSE(std::ranges::equal(before, network->buffers()));
    network->predict(batch, predictions);
    Batch one = batch;
    one.samples = 1;
    one.inputs.resize(batch.inputs.size() / 4);
    one.targets.resize(batch.targets.size() / 4);
    network->predict(one, alone);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), predictions.begin())) << "not on the other samples";
}

TEST(bench_deepcam_network, learns_one_batch_by_heart) {
    const Size size = tiny_size();
    auto network = make_network(size, 1);
    network->optimize_with(size.run.optimizer);
    Batch batch = random_batch(size, 2);
    const auto cells = static_cast<size_t>(size.image.cells());
    for (size_t i = 0; i < batch.targets.size(); ++i)  // something to be seen in the inputs
        batch.targets[i] = batch.inputs[i / cells * 4 * cells + i % cells] > 0 ? 1 : 0;
    const double before = loss_of(*network, batch);
    for (int i = 0; i < 150; ++i) {
        network->compute_gradients(batch);
        network->step(0.01);
    }
    EXPECT_LT(loss_of(*network, batch), 0.5 * before);
}

}  // namespace
}  // namespace belay::bench::deepcam
