#include "bench/models/oc20/generator.h"

#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/morse.h"
#include "bench/models/oc20/structure_file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> species_of(const Structure& structure) {
    std::vector<uint8_t> species;
    for (uint8_t number : structure.numbers)
        species.push_back(static_cast<uint8_t>(std::ranges::find(kSpecies, number) - kSpecies.begin()));
    return species;
}

Structure mini_structure(uint32_t index, Split split = Split::kTrain, uint64_t seed = 1) {
    return make_structure(*size_named("mini"), seed, split, index);
}

TEST(bench_oc20, pairs_have_the_stated_potential) {
    // Between H and C: depth 0.5, length 2.0.
    EXPECT_NEAR(pair_at(0, 1, 2.0).energy, -0.5, 1e-14);
    EXPECT_NEAR(pair_at(0, 1, 2.0).slope, 0, 1e-14);
    EXPECT_NEAR(pair_at(2, 2, 2.0).energy, std::pow(1 - std::exp(1.5 * 0.6), 2) - 1, 1e-12);
    const double at_middle = 0.5 * (std::pow(1 - std::exp(-1.5 * 1.5), 2) - 1);
    EXPECT_NEAR(pair_at(0, 1, 3.5).energy, 0.5 * at_middle, 1e-12) << "half switched off";
    EXPECT_EQ(pair_at(0, 1, 4).energy, 0);
    EXPECT_NEAR(pair_at(0, 1, 4 - 1e-9).slope, 0, 1e-8);
    for (double r : {1.5, 2.9, 3.1, 3.9})
        for (size_t a = 0; a < 3; ++a)
            for (size_t b = 0; b < 3; ++b) {
                constexpr double h = 1e-6;
                EXPECT_EQ(pair_at(a, b, r).energy, pair_at(b, a, r).energy);
                EXPECT_NEAR((pair_at(a, b, r + h).energy - pair_at(a, b, r - h).energy) / (2 * h),
                            pair_at(a, b, r).slope, 1e-8);
            }
}

// Central differences of the energy, to 1e-6 of the largest force.
TEST(bench_oc20, generated_forces_are_the_slope_of_the_energy) {
    for (uint32_t index = 0; index < 4; ++index) {
        const Structure structure = mini_structure(index);
        const std::vector<uint8_t> species = species_of(structure);
        double largest = 0;
        for (const Vector& force : structure.forces)
            for (double component : force) largest = std::max(largest, std::fabs(component));
        for (size_t atom = 0; atom < structure.atoms(); ++atom)
            for (size_t axis = 0; axis < 3; ++axis) {
                auto energy_at = [&](double step) {
                    Structure moved = structure;
                    moved.positions[atom][axis] += step;
                    apply_morse(moved, species, kGeneratedForceUnit);
                    return moved.energy;
                };
                constexpr double h = 2e-5;
                // The fourth-order formula, so that what the step leaves out is below rounding.
                const double slope =
                    (8 * (energy_at(h) - energy_at(-h)) - (energy_at(2 * h) - energy_at(-2 * h))) / (12 * h);
                EXPECT_NEAR(-slope, structure.forces[atom][axis], 1e-6 * largest);
            }
        Vector total{};
        for (const Vector& force : structure.forces) total = total + force;
        EXPECT_NEAR(dot(total, total), 0, 1e-20) << "nothing pulls from outside";
    }
}

TEST(bench_oc20, generated_structures_are_as_stated) {
    std::set<size_t> sizes_seen;
    std::set<uint8_t> numbers;
    for (uint32_t index = 0; index < 200; ++index) {
        const Structure structure = mini_structure(index);
        ASSERT_TRUE(check_structure(structure, 4));
        sizes_seen.insert(structure.atoms());
        numbers.insert(structure.numbers.begin(), structure.numbers.end());
        const auto fixed = static_cast<size_t>(std::ranges::count(structure.fixed, 1));
        EXPECT_EQ(fixed, structure.atoms() / 5);
        EXPECT_TRUE(std::ranges::is_sorted(structure.fixed, std::ranges::greater{})) << "the first ones";
        std::set<std::array<long, 3>> places;
        for (const Vector& position : structure.positions) {
            std::array<long, 3> place{};
            for (size_t axis = 0; axis < 3; ++axis) {
                place[axis] = std::lround(position[axis] / (8.0 / 3) - 0.5);
                EXPECT_LE(std::fabs(position[axis] - 8.0 / 3 * (static_cast<double>(place[axis]) + 0.5)),
                          0.4);
                EXPECT_TRUE(place[axis] >= 0 && place[axis] < 3);
            }
            EXPECT_TRUE(places.insert(place).second) << "two atoms on one site";
        }
    }
    EXPECT_EQ(sizes_seen, (std::set<size_t>{12, 13, 14, 15, 16, 17, 18, 19, 20}));
    EXPECT_EQ(numbers, (std::set<uint8_t>{1, 6, 8}));
}

TEST(bench_oc20, generated_structures_are_the_same_in_any_order) {
    const Structure later = mini_structure(1), first = mini_structure(0);
    EXPECT_EQ(first, mini_structure(0));
    EXPECT_EQ(later, mini_structure(1));
    EXPECT_NE(first, later);
    EXPECT_NE(first, mini_structure(0, Split::kEval));
    EXPECT_NE(first, mini_structure(0, Split::kTrain, 2));
}

TEST(bench_oc20, generated_forces_have_the_deviation_one) {
    double squares = 0, sum = 0, components = 0;
    for (uint32_t index = 0; index < 2048; ++index) {
        const Structure structure = mini_structure(index);
        for (size_t atom = 0; atom < structure.atoms(); ++atom) {
            if (structure.fixed[atom]) continue;
            squares += dot(structure.forces[atom], structure.forces[atom]);
            for (double component : structure.forces[atom]) sum += std::fabs(component);
            components += 3;
        }
    }
    EXPECT_NEAR(std::sqrt(squares / components), 1, 0.02);
    EXPECT_NEAR(sum / components, 0.55, 0.02) << "what a guess of no force would be worth";
}

TEST(bench_oc20, files_give_back_what_was_written) {
    const Structure structure = mini_structure(3);
    const std::string bytes = encode_structure(structure);
    EXPECT_EQ(bytes.size(), 96 + 56 * structure.atoms());
    EXPECT_EQ(decode_structure(bytes, 4).value(), structure);
    auto problem = [&](std::string text) { return decode_structure(text, 4).error().message(); };
    EXPECT_THAT(problem(""), HasSubstr("0 bytes"));
    EXPECT_THAT(problem("X" + bytes.substr(1)), HasSubstr("not a structure"));
    EXPECT_THAT(problem(bytes.substr(0, 200)), HasSubstr("cut off"));
    std::string wrong_element = bytes;
    wrong_element[96 + 48] = 99;
    EXPECT_THAT(problem(wrong_element), HasSubstr("element 99"));
    EXPECT_EQ(structure_name(Split::kTrain, 17), "train/000017.structure");
    EXPECT_EQ(structure_name(Split::kEval, 0), "eval/000000.structure");
}

TEST(bench_oc20, batches_hold_structures_of_any_length) {
    std::vector<float> inputs, targets;
    const std::vector<Structure> structures = {mini_structure(0), mini_structure(1), mini_structure(2)};
    for (const Structure& structure : structures) append_to_batch(structure, inputs, targets);
    size_t number = 0, atoms = 0;
    for_each_structure(inputs, [&](std::span<const float> values, size_t first_atom) {
        const Structure read = structure_from(values);
        const Structure& written = structures[number++];
        EXPECT_EQ(first_atom, atoms);
        EXPECT_EQ(read.numbers, written.numbers);
        EXPECT_EQ(read.fixed, written.fixed);
        EXPECT_NEAR(read.cell[2][2], 8, 1e-6);
        for (size_t atom = 0; atom < written.atoms(); ++atom) {
            EXPECT_NEAR(read.positions[atom][1], written.positions[atom][1], 1e-6);
            EXPECT_FLOAT_EQ(targets[3 * (atoms + atom) + 2], static_cast<float>(written.forces[atom][2]));
        }
        atoms += written.atoms();
    });
    EXPECT_EQ(number, 3u);
    EXPECT_EQ(targets.size(), 3 * atoms);
}

// Means over parts of a batch average to the mean over all of it, although structures differ in length.
TEST(bench_oc20, weights_of_forces_let_means_of_ranks_combine) {
    std::vector<float> all, halves[2], targets;
    std::vector<double> weights_of_halves;
    for (uint32_t index = 0; index < 4; ++index) append_to_batch(mini_structure(index), all, targets);
    for (uint32_t index = 0; index < 4; ++index)
        append_to_batch(mini_structure(index), halves[index / 2], targets);
    for (const auto& half : halves)
        for (double weight : force_weights(half, 2)) weights_of_halves.push_back(weight / 2);
    const std::vector<double> weights = force_weights(all, 4);
    ASSERT_EQ(weights.size(), weights_of_halves.size());
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        EXPECT_DOUBLE_EQ(weights[i], weights_of_halves[i]);
        sum += 3 * weights[i];
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_EQ(weights[0], 0) << "a fixed atom";
}

}  // namespace
}  // namespace belay::bench::oc20
