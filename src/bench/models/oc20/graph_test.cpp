#include "bench/models/oc20/graph.h"

#include "bench/models/oc20/generator.h"

#include <cmath>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

Structure structure_of(std::array<Vector, 3> cell, std::vector<Vector> positions) {
    Structure structure;
    structure.cell = cell;
    structure.numbers.assign(positions.size(), 1);
    structure.fixed.assign(positions.size(), 0);
    structure.forces.resize(positions.size());
    structure.positions = std::move(positions);
    return structure;
}

std::array<Vector, 3> cube(double side) {
    return {Vector{side, 0, 0}, Vector{0, side, 0}, Vector{0, 0, side}};
}

TEST(bench_oc20, neighbors_are_found_across_the_boundary_and_in_several_cells) {
    Graph graph;
    add_to(graph, structure_of(cube(10), {{0.5, 5, 5}, {9.5, 5, 5}}), 2, 50);
    ASSERT_EQ(graph.source.size(), 2u);
    EXPECT_EQ(graph.target[0], 0);
    EXPECT_EQ(graph.source[0], 1);
    EXPECT_NEAR(graph.vectors[0][0], -1, 1e-12);
    EXPECT_TRUE(graph.kj.empty()) << "only the way back";

    // An atom alone has its own images: 6 at 3 Å, 12 at 3 sqrt(2) Å, 8 at 3 sqrt(3) Å, then 6 Å.
    for (const auto& [cutoff, count] : {std::pair(3.1, 6u), {4.3, 18u}, {5.2, 26u}, {6.01, 32u}}) {
        Graph alone;
        add_to(alone, structure_of(cube(3), {{100, -50, 1}}), cutoff, 100);
        EXPECT_EQ(alone.source.size(), count) << cutoff;
        EXPECT_EQ(alone.kj.size(), count * (count - 1)) << cutoff;
    }
}

// Against a search through many cells, in a cell with oblique sides and atoms outside of it.
TEST(bench_oc20, neighbors_in_an_oblique_cell_are_those_of_a_search_through_all_images) {
    const std::array<Vector, 3> cell = {Vector{4, 0.5, 0}, Vector{-1.5, 5, 0.3}, Vector{1, 2, 6}};
    const std::vector<Vector> positions = {{0.1, 0.2, 0.3}, {9, -3, 4}, {2, 2, 2}};
    constexpr double kCutoff = 6;
    std::multiset<std::tuple<int64_t, int64_t, long>> expected, found;
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j)
            for (int x = -8; x <= 8; ++x)
                for (int y = -8; y <= 8; ++y)
                    for (int z = -8; z <= 8; ++z) {
                        const Vector vector =
                            positions[j] - positions[i] + x * cell[0] + y * cell[1] + z * cell[2];
                        const double distance = std::sqrt(dot(vector, vector));
                        if (distance > 0.01 && distance <= kCutoff)
                            expected.emplace(i, j, std::lround(1e6 * distance));
                    }
    Graph graph;
    add_to(graph, structure_of(cell, positions), kCutoff, 1000);
    for (size_t edge = 0; edge < graph.source.size(); ++edge)
        found.emplace(graph.target[edge], graph.source[edge],
                      std::lround(1e6 * std::sqrt(dot(graph.vectors[edge], graph.vectors[edge]))));
    EXPECT_EQ(found, expected);
}

TEST(bench_oc20, only_the_nearest_neighbors_are_taken_where_there_are_many) {
    Graph graph;
    add_to(graph, structure_of(cube(3), {{0, 0, 0}}), 6.01, 6);
    ASSERT_EQ(graph.source.size(), 6u);
    for (const Vector& vector : graph.vectors) EXPECT_NEAR(dot(vector, vector), 9, 1e-9);
}

TEST(bench_oc20, triplets_share_their_middle_atom_and_do_not_go_back) {
    const Size size = *size_named("mini");
    Graph graph;
    for (uint32_t index : {0, 1})
        add_to(graph, make_structure(size, 1, Split::kTrain, index), size.cutoff, size.maximum_neighbors);
    EXPECT_EQ(graph.structures, 2);
    std::set<std::pair<int64_t, int64_t>> seen;
    for (size_t i = 0; i < graph.kj.size(); ++i) {
        const auto kj = static_cast<size_t>(graph.kj[i]), ji = static_cast<size_t>(graph.ji[i]);
        ASSERT_EQ(graph.target[kj], graph.source[ji]);
        const Vector around = graph.vectors[kj] + graph.vectors[ji];
        EXPECT_TRUE(graph.source[kj] != graph.target[ji] || dot(around, around) > 1);
        EXPECT_TRUE(seen.insert({graph.kj[i], graph.ji[i]}).second);
    }
    size_t expected = 0;  // all pairs of edges that share an atom, but for the way back, which each edge has
    for (int64_t source : graph.source)
        expected += static_cast<size_t>(std::ranges::count(graph.target, source)) - 1;
    EXPECT_EQ(graph.kj.size(), expected);
    for (size_t edge = 0; edge < graph.source.size(); ++edge)
        EXPECT_EQ(graph.structure[static_cast<size_t>(graph.source[edge])],
                  graph.structure[static_cast<size_t>(graph.target[edge])]);
}

TEST(bench_oc20, bends_know_their_gradient) {
    const Vector ji = {1, 0.3, -0.2}, kj = {0.4, 2, 0.7};
    auto cosine = [](const Vector& a, const Vector& b) {
        return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
    };
    const Bend bend = bend_of(ji, kj, std::sqrt(dot(ji, ji)), std::sqrt(dot(kj, kj)));
    EXPECT_NEAR(bend.cosine, cosine(ji, kj), 1e-14);
    for (size_t axis = 0; axis < 3; ++axis) {
        Vector step{};
        step[axis] = 1e-6;
        EXPECT_NEAR((cosine(ji + step, kj) - cosine(ji - step, kj)) / 2e-6, bend.by_ji[axis], 1e-9);
        EXPECT_NEAR((cosine(ji, kj + step) - cosine(ji, kj - step)) / 2e-6, bend.by_kj[axis], 1e-9);
    }
}

TEST(bench_oc20, structures_that_no_network_can_take_are_refused) {
    auto problem = [](const Structure& structure) { return check_structure(structure, 6).error().message(); };
    Structure good = structure_of(cube(8), {{0, 0, 0}, {1, 1, 1}});
    EXPECT_TRUE(check_structure(good, 6));
    Structure bad = good;
    bad.numbers[1] = 95;
    EXPECT_THAT(problem(bad), HasSubstr("element 95; the network knows elements 1 to 94"));
    bad = good;
    bad.positions[0][2] = NAN;
    EXPECT_THAT(problem(bad), HasSubstr("not a number"));
    bad = good;
    bad.forces.pop_back();
    EXPECT_THAT(problem(bad), HasSubstr("2 positions, 1 forces"));
    bad = good;
    bad.cell[2] = {8, 0, 1e-3};
    EXPECT_THAT(problem(bad), HasSubstr("its cell is flat"));
    bad.cell[2] = {};
    EXPECT_THAT(problem(bad), HasSubstr("its cell is flat"));
    EXPECT_THAT(problem({}), HasSubstr("0 atoms"));
}

}  // namespace
}  // namespace belay::bench::oc20
