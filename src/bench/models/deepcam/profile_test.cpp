#include "bench/models/deepcam/profile.h"

#include <cmath>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

using testing::HasSubstr;

Survey survey_of(std::string_view name) {
    const Size size = *size_named(name);
    return survey(size.architecture, size.image);
}

// The full profile's is what the reference's own definition adds up to (deeplab_xception.py with 16 channels, 3 classes
// and output stride 16). The mini's by hand: encoder 608 + 720 + 2,464 + 4,800, pyramid 45,376, low level 544, decoder
// 12,320.
TEST(bench_deepcam, parameter_counts_are_those_of_the_reference) {
    EXPECT_EQ(parameter_count(*size_named("full")), 56'454'720);
    EXPECT_EQ(parameter_count(*size_named("mini")), 66'832);
}

TEST(bench_deepcam, network_gives_a_logit_for_each_class_and_cell) {
    for (const Size& size : sizes())
        EXPECT_EQ(survey(size.architecture, size.image).output,
                  (Shape{kClasses, size.image.height, size.image.width}))
            << size.run.name;
}

// By the reference's tiles of (48, 72) for the pooled branch: output stride 16.
TEST(bench_deepcam, shapes_of_the_full_network_are_those_of_the_reference) {
    const Survey full = survey_of("full");
    EXPECT_EQ(full.shapes.front(), (Shape{32, 384, 576}));
    EXPECT_THAT(full.shapes, testing::Contains(Shape{128, 192, 288})) << "the low-level feature";
    EXPECT_THAT(full.shapes, testing::Contains(Shape{2048, 48, 72})) << "the encoder's last";
    EXPECT_THAT(full.shapes, testing::Contains(Shape{48, 192, 288})) << "the reduced low-level feature";
    EXPECT_EQ(full.norms.size(), 76U) << "2 + 3 x 3 + 16 x 3 + 3 + 3 in the encoder, 5 + 1 + 5 behind it";
    // The convolution behind the concatenation has 256 + 48 channels to look at.
    EXPECT_THAT(full.parameters,
                testing::Contains(testing::Field(&Parameter::sizes, testing::ElementsAre(256, 304, 3, 3))));
}

TEST(bench_deepcam, weights_start_as_the_reference_starts_them) {
    const Survey full = survey_of("full");
    const Parameter& first = full.parameters.front();
    EXPECT_EQ(first.sizes, (std::vector<int64_t>{32, 16, 3, 3}));
    EXPECT_EQ(first.kind, Parameter::Kind::kNormal);
    EXPECT_DOUBLE_EQ(first.spread, std::sqrt(2.0 / (16 * 9)));
    const Parameter& last = full.parameters.back();
    EXPECT_EQ(last.sizes, (std::vector<int64_t>{256, 3, 3, 3}));
    EXPECT_EQ(last.kind, Parameter::Kind::kUniform);
    EXPECT_DOUBLE_EQ(last.spread, 1 / std::sqrt(3.0 * 9));
    EXPECT_EQ(full.parameters[1].spread, 1) << "the factor of a norm";
    EXPECT_EQ(full.parameters[2].spread, 0) << "its offset";
}

// A network of one convolution each, by hand.
TEST(bench_deepcam, operations_are_multiplications_and_additions) {
    constexpr Unit kEncoder[] = {{.kind = UnitKind::kConvolution, .out = 2, .stride = 2}};
    constexpr int kDilations[] = {1};
    const Architecture tiny{.encoder = kEncoder,
                            .low_level_channels = 3,
                            .dilations = kDilations,
                            .pyramid_channels = 4,
                            .decoder_channels = 5,
                            .deconvolutions_after = 1};
    const double cells = 8 * 12, quarter = cells / 4;
    const Survey found = survey(tiny, {.channels = 4, .height = 8, .width = 12});
    EXPECT_EQ(found.first_layer_flops, 2 * 4 * 9 * 2 * quarter);
    const double expected = 4 * 9 * 2 * quarter                          // the encoder
                            + 2 * 4 * quarter + 2 * 4 + 8 * 4 * quarter  // the pyramid
                            + 2 * 3 * quarter                            // low level
                            + 7 * 9 * 5 * quarter + 5 * 9 * 5 * quarter + 5 * 5 * quarter +
                            5 * 9 * 3 * quarter;
    EXPECT_EQ(found.forward_flops, 2 * expected);
    const Size size{.run = {}, .image = {.channels = 4, .height = 8, .width = 12}, .architecture = tiny};
    EXPECT_EQ(flops_per_sample(size), 6 * expected - found.first_layer_flops);
}

TEST(bench_deepcam, classes_weigh_by_the_eighth_root_of_their_rarity) {
    const auto weights = class_weights(*size_named("full"));
    EXPECT_NEAR(weights[0], 1.001730, 1e-5);
    EXPECT_NEAR(weights[1], 2.614611, 1e-5);
    EXPECT_NEAR(weights[2], 1.716420, 1e-5);
}

TEST(bench_deepcam, unknown_profile_names_the_nearest) {
    auto size = size_named("mimi");
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().exit_status(), 2);
    EXPECT_THAT(size.error().render(), HasSubstr("did you mean \"mini\"?"));
}

}  // namespace
}  // namespace belay::bench::deepcam
