#include "bench/models/oc20/training/network.h"

#include "bench/models/oc20/generator.h"
#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/training/exact_network_for_tests.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace belay::bench::oc20 {
namespace {

// Everything that the real profiles have, in milliseconds.
Size tiny() {
    Size size = *size_named("mini");
    size.hidden = 8;
    size.output = 6;
    size.blocks = 2;
    size.interaction = 5;
    size.basis = 3;
    size.spherical = 3;
    size.radial = 2;
    size.fewest_atoms = 4;
    size.most_atoms = 7;
    size.force_sigma = 1.7;
    return size;
}

std::vector<Structure> structures_for(const Size& size, uint32_t count) {
    std::vector<Structure> structures;
    for (uint32_t index = 0; index < count; ++index)
        structures.push_back(make_structure(size, 1, Split::kTrain, index));
    return structures;
}

// The starting weights, but with a last layer that is not 0: else there are no forces.
std::vector<double> parameters_for(const Size& size) {
    const std::vector<float> start = starting_parameters(size, 1);
    std::vector<double> parameters(start.begin(), start.end());
    RandomStream random(1, Split::kWeights, 1000, 0);
    for (double& parameter : parameters) parameter += 0.2 * (2 * random.next_uniform() - 1);
    return parameters;
}

Batch batch_of(const std::vector<Structure>& structures) {
    Batch batch{.samples = structures.size(), .inputs = {}, .targets = {}};
    for (const Structure& structure : structures) append_to_batch(structure, batch.inputs, batch.targets);
    return batch;
}

std::unique_ptr<Network> network_with(const Size& size, const std::vector<double>& parameters) {
    auto network = make_network(size, 1);
    std::ranges::transform(parameters, network->parameters().begin(),
                           [](double value) { return static_cast<float>(value); });
    return network;
}

double largest_component(const std::vector<Vector>& forces) {
    double largest = 0;
    for (const Vector& force : forces)
        for (double component : force) largest = std::max(largest, std::fabs(component));
    return largest;
}

void expect_near(const std::vector<Vector>& left, const std::vector<Vector>& right, double tolerance) {
    ASSERT_EQ(left.size(), right.size());
    for (size_t atom = 0; atom < left.size(); ++atom)
        for (size_t axis = 0; axis < 3; ++axis)
            EXPECT_NEAR(left[atom][axis], right[atom][axis], tolerance) << atom;
}

TEST(bench_oc20, network_has_as_many_parameters_as_the_reference) {
    for (const Size& size : sizes())
        EXPECT_EQ(static_cast<int64_t>(make_network(size, 1)->parameters().size()), parameter_count(size))
            << size.run.name;
}

TEST(bench_oc20, network_starts_with_its_seeds_weights_and_without_forces) {
    const Size size = tiny();
    auto network = make_network(size, 3);
    EXPECT_TRUE(std::ranges::equal(network->parameters(), starting_parameters(size, 3)));
    std::vector<float> predictions;
    network->predict(batch_of(structures_for(size, 2)), predictions);
    EXPECT_TRUE(std::ranges::all_of(predictions, [](float value) { return value == 0; }));
}

TEST(bench_oc20, forces_are_the_slope_of_the_networks_energy) {
    const Size size = tiny();
    const ExactNetwork exactly(size);
    const std::vector<double> parameters = parameters_for(size);
    std::vector<Structure> structures = structures_for(size, 2);
    const Exact exact = exactly.evaluate(parameters, structures);
    const double largest = largest_component(exact.forces);
    ASSERT_GT(largest, 0.01);
    size_t first_atom = 0;
    for (size_t number = 0; number < structures.size(); ++number) {
        for (size_t atom = 0; atom < structures[number].atoms(); ++atom)
            for (size_t axis = 0; axis < 3; ++axis) {
                double& coordinate = structures[number].positions[atom][axis];
                const double original = coordinate;
                constexpr double h = 1e-4;
                coordinate = original + h;
                const double above = exactly.evaluate(parameters, structures).energies[number];
                coordinate = original - h;
                const double below = exactly.evaluate(parameters, structures).energies[number];
                coordinate = original;
                EXPECT_NEAR(-(above - below) / (2 * h), exact.forces[first_atom + atom][axis],
                            1e-5 * largest);
            }
        first_atom += structures[number].atoms();
    }
}

// Second derivatives: the loss has the forces in it, and is derived by the parameters.
TEST(bench_oc20, gradients_are_the_slope_of_the_loss_of_forces) {
    for (bool fixed : {false, true}) {
        Size size = tiny();
        size.angles_are_fixed = fixed;
        size.blocks = fixed ? 1 : 2;
        const ExactNetwork exactly(size);
        std::vector<double> parameters = parameters_for(size);
        const std::vector<Structure> structures = structures_for(size, 1);
        const Exact exact = exactly.evaluate(parameters, structures);
        double largest = 0;
        for (double gradient : exact.gradients) largest = std::max(largest, std::fabs(gradient));
        ASSERT_GT(largest, 0.01);
        size_t start = 0;
        for (const Layer& layer : layers(size)) {
            // The first and the last parameter of each layer.
            for (size_t place : {start, start + static_cast<size_t>(layer.parameters()) - 1}) {
                const double original = parameters[place];
                constexpr double h = 1e-5;
                parameters[place] = original + h;
                const double above = exactly.evaluate(parameters, structures).loss;
                parameters[place] = original - h;
                const double below = exactly.evaluate(parameters, structures).loss;
                parameters[place] = original;
                EXPECT_NEAR((above - below) / (2 * h), exact.gradients[place], 1e-5 * largest) << layer.name;
            }
            start += static_cast<size_t>(layer.parameters());
        }
    }
}

TEST(bench_oc20, forces_without_the_angles_part_differ_from_the_slope) {
    Size size = tiny();
    const ExactNetwork exactly(size);
    const std::vector<double> parameters = parameters_for(size);
    const std::vector<Structure> structures = structures_for(size, 1);
    const Exact all = exactly.evaluate(parameters, structures);
    size.angles_are_fixed = true;
    const Exact some = ExactNetwork(size).evaluate(parameters, structures);
    EXPECT_EQ(all.energies, some.energies);
    double difference = 0;
    for (size_t atom = 0; atom < all.forces.size(); ++atom)
        difference = std::max(difference, std::fabs(all.forces[atom][0] - some.forces[atom][0]));
    EXPECT_GT(difference, 1e-5 * largest_component(all.forces));
}

Vector rotated(const Vector& v) {
    // By 0.7 about z, then by 0.4 about x.
    const double c = std::cos(0.7), s = std::sin(0.7), d = std::cos(0.4), t = std::sin(0.4);
    const Vector w = {c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]};
    return {w[0], d * w[1] - t * w[2], t * w[1] + d * w[2]};
}

TEST(bench_oc20, forces_do_not_depend_on_where_the_structure_lies_and_turn_with_it) {
    const Size size = tiny();
    const ExactNetwork exactly(size);
    const std::vector<double> parameters = parameters_for(size);
    const std::vector<Structure> structures = structures_for(size, 1);
    const Exact exact = exactly.evaluate(parameters, structures);
    const double tolerance = 1e-9 * largest_component(exact.forces);

    std::vector<Structure> moved = structures;
    for (Vector& position : moved[0].positions) position = position + Vector{3.3, -11, 0.4};
    moved[0].positions[1] = moved[0].positions[1] + moved[0].cell[0];  // an image of the same atom
    expect_near(exactly.evaluate(parameters, moved).forces, exact.forces, tolerance);

    std::vector<Structure> turned = structures;
    for (Vector& position : turned[0].positions) position = rotated(position);
    for (Vector& side : turned[0].cell) side = rotated(side);
    std::vector<Vector> expected = exact.forces;
    for (Vector& force : expected) force = rotated(force);
    const Exact after = exactly.evaluate(parameters, turned);
    expect_near(after.forces, expected, tolerance);
    EXPECT_NEAR(after.energies[0], exact.energies[0], 1e-9 * std::fabs(exact.energies[0]));
}

TEST(bench_oc20, forces_go_with_their_atoms_when_these_are_numbered_anew) {
    const Size size = tiny();
    const ExactNetwork exactly(size);
    const std::vector<double> parameters = parameters_for(size);
    std::vector<Structure> structures = structures_for(size, 1);
    std::vector<Vector> forces = exactly.evaluate(parameters, structures).forces;
    std::ranges::reverse(structures[0].positions);
    std::ranges::reverse(structures[0].numbers);
    std::ranges::reverse(structures[0].fixed);
    std::ranges::reverse(forces);
    expect_near(exactly.evaluate(parameters, structures).forces, forces, 1e-9 * largest_component(forces));
}

TEST(bench_oc20, single_precision_follows_double_precision) {
    const Size size = tiny();
    const ExactNetwork exactly(size);
    const std::vector<double> parameters = parameters_for(size);
    const std::vector<Structure> structures = structures_for(size, 3);
    const Exact exact = exactly.evaluate(parameters, structures);
    auto network = network_with(size, parameters);
    const Batch batch = batch_of(structures);
    std::vector<float> predictions;
    network->predict(batch, predictions);
    ASSERT_EQ(predictions.size(), batch.targets.size());
    for (size_t i = 0; i < predictions.size(); ++i)
        EXPECT_NEAR(predictions[i], exact.forces[i / 3][i % 3], 1e-4 * largest_component(exact.forces));
    network->compute_gradients(batch);
    const std::span<float> gradients = network->gradients_and_loss();
    EXPECT_NEAR(gradients.back(), exact.loss, 1e-4 * exact.loss);
    double largest = 0;
    for (double gradient : exact.gradients) largest = std::max(largest, std::fabs(gradient));
    for (size_t i = 0; i < exact.gradients.size(); ++i)
        EXPECT_NEAR(gradients[i], exact.gradients[i], 2e-4 * largest) << i;

    // By hand: structures count alike, and in each of them its free atoms.
    double loss = 0;
    for_each_structure(batch.inputs, [&](std::span<const float> structure, size_t first) {
        double sum = 0, components = 0;
        for (size_t atom = 0; atom < atoms_of(structure); ++atom)
            for (size_t axis = 0; axis < 3 && !is_fixed(structure, atom); ++axis, ++components)
                sum += std::fabs(predictions[3 * (first + atom) + axis] -
                                 batch.targets[3 * (first + atom) + axis]);
        loss += sum / components / 3;
    });
    EXPECT_NEAR(gradients.back(), 50 * loss / size.force_sigma, 1e-4 * exact.loss);
}

TEST(bench_oc20, network_gradients_do_not_add_up_over_calls) {
    const Size size = tiny();
    auto network = network_with(size, parameters_for(size));
    const Batch batch = batch_of(structures_for(size, 2));
    network->compute_gradients(batch);
    const std::vector<float> once(network->gradients_and_loss().begin(), network->gradients_and_loss().end());
    std::vector<float> predictions;
    network->predict(batch, predictions);
    network->compute_gradients(batch);
    EXPECT_TRUE(std::ranges::equal(once, network->gradients_and_loss()));
}

TEST(bench_oc20, structures_with_atoms_that_nothing_acts_on_have_no_forces) {
    const Size size = tiny();
    Structure lonely = structures_for(size, 1)[0];
    lonely.numbers = {6};
    lonely.fixed = {0};
    lonely.positions = {{1, 1, 1}};
    lonely.forces = {{0, 0, 0}};
    for (Vector& side : lonely.cell) side = 3.0 * side;
    auto network = network_with(size, parameters_for(size));
    std::vector<float> predictions;
    network->predict(batch_of({lonely}), predictions);
    EXPECT_EQ(predictions, (std::vector<float>{0, 0, 0}));
    network->compute_gradients(batch_of({lonely}));
    EXPECT_EQ(network->gradients_and_loss().back(), 0);
}

TEST(bench_oc20, network_learns_one_batch_by_heart) {
    const Size size = tiny();
    auto network = make_network(size, 1);
    network->optimize_with({.method = Method::kAdamW});
    const Batch batch = batch_of(structures_for(size, 2));
    network->compute_gradients(batch);
    const float before = network->gradients_and_loss().back();
    for (int i = 0; i < 100; ++i) {
        network->step(0.02);
        network->compute_gradients(batch);
    }
    EXPECT_LT(network->gradients_and_loss().back(), 0.4F * before);
}

}  // namespace
}  // namespace belay::bench::oc20
