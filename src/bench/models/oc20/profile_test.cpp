#include "bench/models/oc20/profile.h"

#include "bench/models/oc20/generator.h"

#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

// The number that the Open Catalyst Project's trainer logs for these sizes ("Loaded DimeNetPlusPlusWrap with ...");
// the Open Catalyst paper gives it as 1.8M.
TEST(bench_oc20, parameter_counts_are_those_of_the_reference) {
    EXPECT_EQ(parameter_count(*size_named("full")), 1'810'182);
    // By hand: 4 frequencies; embedding 95*32, 4*32+32, 96*32+32; two output blocks of 4*32, 4*(32*32+32), 32;
    // one interaction of 16+128+64+64, 2*(32*32+32), 2*512, 7*(32*32+32).
    EXPECT_EQ(parameter_count(*size_named("mini")),
              4 + 3040 + 160 + 3104 + 2 * (128 + 4224 + 32) + 272 + 2112 + 1024 + 7392);
}

// Names and shapes as in the reference's state_dict.
TEST(bench_oc20, layers_have_the_shapes_of_the_reference) {
    std::map<std::string, std::array<int, 3>> found;
    for (const Layer& layer : layers(*size_named("full")))
        EXPECT_TRUE(found.insert({layer.name, {layer.out, layer.in, layer.has_bias}}).second) << layer.name;
    const std::map<std::string, std::array<int, 3>> expected = {
        {"rbf.freq", {1, 6, 0}},
        {"emb.emb", {95, 192, 0}},
        {"emb.lin_rbf", {192, 6, 1}},
        {"emb.lin", {192, 576, 1}},
        {"output_blocks.3.lin_rbf", {192, 6, 0}},
        {"output_blocks.3.lin_up", {192, 192, 1}},
        {"output_blocks.3.lins.2", {192, 192, 1}},
        {"output_blocks.3.lin", {1, 192, 0}},
        {"interaction_blocks.2.lin_rbf1", {8, 6, 0}},
        {"interaction_blocks.2.lin_rbf2", {192, 8, 0}},
        {"interaction_blocks.2.lin_sbf1", {8, 42, 0}},
        {"interaction_blocks.2.lin_sbf2", {64, 8, 0}},
        {"interaction_blocks.2.lin_kj", {192, 192, 1}},
        {"interaction_blocks.2.lin_ji", {192, 192, 1}},
        {"interaction_blocks.2.lin_down", {64, 192, 0}},
        {"interaction_blocks.2.lin_up", {192, 64, 0}},
        {"interaction_blocks.2.layers_before_skip.0.lin1", {192, 192, 1}},
        {"interaction_blocks.2.layers_before_skip.0.lin2", {192, 192, 1}},
        {"interaction_blocks.2.lin", {192, 192, 1}},
        {"interaction_blocks.2.layers_after_skip.0.lin1", {192, 192, 1}},
        {"interaction_blocks.2.layers_after_skip.1.lin2", {192, 192, 1}},
    };
    for (const auto& [name, shape] : expected) EXPECT_EQ(found[name], shape) << name;
    EXPECT_EQ(found.size(), 4u + 4 * 6 + 3 * 15);
}

TEST(bench_oc20, operations_are_six_uses_of_each_layer) {
    Size size = *size_named("mini");
    // Of one atom without neighbours: two output blocks of 4 x 32 x 32 + 32 multiplications and as many additions.
    EXPECT_EQ(flops_of(size, {.atoms = 1}), 6 * 2 * 2 * (4 * 32 * 32 + 32));
    EXPECT_EQ(flops_of(size, {.triplets = 1}), 6 * 2 * (16 * 4 + 4 * 16));
    EXPECT_GT(flops_of(*size_named("full"), typical_extent(*size_named("full"))),
              100 * flops_of(size, typical_extent(size)));
}

TEST(bench_oc20, unknown_profile_names_the_nearest) {
    auto size = size_named("mimi");
    ASSERT_FALSE(size);
    EXPECT_THAT(size.error().render(), HasSubstr("did you mean \"mini\"?"));
}

// Where the parameters of a layer start, and how many there are.
std::span<const float> parameters_of(const std::vector<float>& all, const Size& size, std::string_view name) {
    size_t start = 0;
    for (const Layer& layer : layers(size)) {
        if (layer.name == name) return std::span(all).subspan(start, static_cast<size_t>(layer.parameters()));
        start += static_cast<size_t>(layer.parameters());
    }
    return {};
}

TEST(bench_oc20, starting_weights_are_orthogonal_and_have_glorots_variance) {
    const Size size = *size_named("mini");
    const std::vector<float> all = starting_parameters(size, 1);
    ASSERT_EQ(static_cast<int64_t>(all.size()), parameter_count(size));
    const auto down = parameters_of(all, size, "interaction_blocks.0.lin_down");  // [16][32]
    double squares = 0;
    for (size_t row = 0; row < 16; ++row)
        for (size_t other = 0; other < 16; ++other) {
            double product = 0;
            for (size_t i = 0; i < 32; ++i) product += double{down[row * 32 + i]} * down[other * 32 + i];
            if (row == other)
                squares += product;
            else
                EXPECT_NEAR(product, 0, 1e-6);
        }
    EXPECT_NEAR(squares / (16 * 32), 2.0 / (16 + 32), 1e-3);
    const auto frequencies = parameters_of(all, size, "rbf.freq");
    EXPECT_FLOAT_EQ(frequencies[3], 4 * std::numbers::pi_v<float>);
    for (float weight : parameters_of(all, size, "output_blocks.1.lin")) EXPECT_EQ(weight, 0);
    const auto embedding = parameters_of(all, size, "emb.emb");
    EXPECT_GT(*std::ranges::max_element(embedding), 1.7);
    EXPECT_LE(*std::ranges::max_element(embedding), std::numbers::sqrt3);
    EXPECT_EQ(parameters_of(all, size, "interaction_blocks.0.lin_kj")[32 * 32], 0) << "a bias";
    EXPECT_NE(parameters_of(all, size, "output_blocks.0.lin_up")[32 * 32], 0) << "a bias";
    EXPECT_EQ(all, starting_parameters(size, 1));
    EXPECT_NE(all, starting_parameters(size, 2));
}

}  // namespace
}  // namespace belay::bench::oc20
