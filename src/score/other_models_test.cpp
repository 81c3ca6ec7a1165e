#include "score/other_models.h"

#include <cmath>

#include <gtest/gtest.h>

namespace belay::score {

namespace {

double eos(double sm, double pipes, double occupancy) {
    return find_model("eos")->score({.engine = 1, .sm = sm, .occupancy = occupancy, .pipes = pipes}) / 100;
}

double kempner(double sm, double tensor, double dram, double engine) {
    return find_model("kempner")->score({.engine = engine, .sm = sm, .tensor = tensor, .dram = dram});
}

}  // namespace

// Values of the reference's table of existing models.
TEST(score, early_model_is_as_it_was) {
    EXPECT_NEAR(eos(1, 1, 1), 0.913, 0.001);
    EXPECT_NEAR(eos(1, 0.5, 0.12), 0.649, 0.001);
    EXPECT_NEAR(eos(1, 0, 1), 0.772, 0.001);  // a kernel that spins
    EXPECT_NEAR(eos(0.2, 0.2, 0.2), 0.313, 0.001);
    EXPECT_NEAR(eos(0.2, 0, 1), 0.760, 0.001);
    EXPECT_NEAR(eos(1, 0.18, 1), 0.388, 0.001);  // more work, less score
}

TEST(score, kempner_is_a_weighted_sum) {
    EXPECT_NEAR(kempner(1, 0.9, 0.3, 1), 82.5, 1e-9);
    EXPECT_NEAR(kempner(1, 0, 0.8, 1), 61, 1e-9);
    EXPECT_NEAR(kempner(1, 0, 0, 1), 45, 1e-9);
}

TEST(score, a_model_without_its_samples_says_nothing) {
    Digest digest;
    digest.gpus.emplace_back();
    digest.gpus[0].whole.fill(std::nan(""));
    digest.gpus[0].totals.observed = 10;
    for (const OtherModel& model : other_models())
        if (model.name != "ofu") {
            EXPECT_TRUE(std::isnan(model.score(means_of(digest)))) << model.name;
        }
    EXPECT_EQ(find_model("no model"), nullptr);
}

}  // namespace belay::score
