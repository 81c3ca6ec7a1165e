#include "bench/models/cosmoflow/training/network.h"

#include "bench/models/cosmoflow/universe.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

constexpr int kChannelsOfTiny[] = {4, 3, 5};

// Two stages on 8^3 cells: everything the real profiles have, in milliseconds.
Size tiny() {
    Size size = *size_named("mini");
    size.side = 8;
    size.channels = kChannelsOfTiny;
    return size;
}

Batch random_batch(const Size& size, int samples) {
    RandomStream random(3, Split::kTrain, 0, 0);
    Batch batch{.samples = static_cast<size_t>(samples), .inputs = {}, .targets = {}};
    batch.inputs.resize(samples * kChannels * size.side * size.side * size.side);
    batch.targets.resize(samples * kParameters);
    for (float& value : batch.inputs) value = static_cast<float>(random.next_gaussians().first);
    for (float& value : batch.targets) value = static_cast<float>(2 * random.next_uniform() - 1);
    return batch;
}

double mean_squared_error(Network& network, const Batch& batch) {
    std::vector<float> predictions;
    network.predict(batch, predictions);
    double sum = 0;
    for (size_t i = 0; i < predictions.size(); ++i)
        sum += std::pow(double{predictions[i]} - batch.targets[i], 2);
    return sum / static_cast<double>(predictions.size());
}

TEST(bench, network_has_as_many_parameters_as_the_reference) {
    for (const Size& size : sizes()) {
        auto network = make_network(size, 1, 1);
        EXPECT_EQ(static_cast<int64_t>(network->parameters().size()), parameter_count(size)) << size.run.name;
    }
}

TEST(bench, network_is_decided_by_its_seed) {
    auto first = make_network(tiny(), 1, 1), same = make_network(tiny(), 1, 2),
         other = make_network(tiny(), 2, 1);
    EXPECT_TRUE(std::ranges::equal(first->parameters(), same->parameters()));
    EXPECT_FALSE(std::ranges::equal(first->parameters(), other->parameters()));
}

TEST(bench, network_starts_with_glorot_weights) {
    Size mini = *size_named("mini");
    auto network = make_network(mini, 1, 1);
    auto first = network->parameters().first(4 * 8 * 27);
    double limit = std::sqrt(6.0 / (27 * (4 + 8)));
    for (float weight : first) ASSERT_LE(std::fabs(weight), limit);
    EXPECT_GT(std::ranges::max(first), 0.98 * limit);
    EXPECT_LT(std::ranges::min(first), -0.98 * limit);
    EXPECT_EQ(network->parameters()[4 * 8 * 27], 0) << "the biases";
}

TEST(bench, network_gradient_is_the_slope_of_the_loss) {
    Size size = tiny();
    auto network = make_network(size, 1, 1);
    Batch batch = random_batch(size, 3);
    network->compute_gradients(batch);
    std::span<float> parameters = network->parameters();
    std::vector<float> gradient(network->gradients_and_loss().begin(), network->gradients_and_loss().end());
    EXPECT_NEAR(gradient.back(), mean_squared_error(*network, batch), 1e-6);

    // Along the gradient itself, so that every parameter takes part.
    double squares = std::inner_product(gradient.begin(), gradient.end() - 1, gradient.begin(), 0.0);
    std::vector<float> original(parameters.begin(), parameters.end());
    auto loss_at = [&](double distance) {
        for (size_t i = 0; i < parameters.size(); ++i)
            parameters[i] = original[i] + static_cast<float>(distance / std::sqrt(squares)) * gradient[i];
        return mean_squared_error(*network, batch);
    };
    constexpr double kDistance = 1e-3;
    EXPECT_NEAR((loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance), std::sqrt(squares),
                0.01 * std::sqrt(squares));
}

TEST(bench, network_gradients_do_not_add_up_over_calls) {
    Size size = tiny();
    auto network = make_network(size, 1, 1);
    Batch batch = random_batch(size, 2);
    network->compute_gradients(batch);
    std::vector<float> once(network->gradients_and_loss().begin(), network->gradients_and_loss().end());
    network->compute_gradients(batch);
    EXPECT_TRUE(std::ranges::equal(once, network->gradients_and_loss()));
}

TEST(bench, network_steps_with_momentum) {
    auto network = make_network(tiny(), 1, 1);
    float before = network->parameters()[7];
    std::ranges::fill(network->gradients_and_loss(), 1.0F);
    network->step(0.5);
    EXPECT_FLOAT_EQ(network->parameters()[7], before - 0.5F);
    network->step(0.5);
    EXPECT_FLOAT_EQ(network->parameters()[7], before - 0.5F - 0.5F * 1.9F);
}

TEST(bench, network_learns_one_batch_by_heart) {
    Size size = tiny();
    auto network = make_network(size, 1, 1);
    Batch batch = random_batch(size, 4);
    double before = mean_squared_error(*network, batch);
    for (int i = 0; i < 200; ++i) {
        network->compute_gradients(batch);
        network->step(0.02);
    }
    EXPECT_LT(mean_squared_error(*network, batch), 0.05 * before);
}

TEST(bench, network_drops_out_in_training_only) {
    Size size = tiny();
    size.dropout = 0.5;
    auto network = make_network(size, 1, 1);
    Batch batch = random_batch(size, 4);
    network->compute_gradients(batch);
    float first = network->gradients_and_loss().back();
    network->compute_gradients(batch);
    EXPECT_NE(first, network->gradients_and_loss().back());
    EXPECT_EQ(mean_squared_error(*network, batch), mean_squared_error(*network, batch));
}

}  // namespace
}  // namespace belay::bench::cosmoflow
