#include "bench/analysis/prediction.h"

#include "bench/analysis/placement.h"

#include <cmath>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

// A machine that obeys the model to the last digit.
struct Machine {
    double constant = 0.02, work = 0.5, messages = 0.004;
    double staging_constant = 10, staging_shared = 4000;
    double other = 7, samples = 100'000;
    double epochs_at_64 = 20, exponent = 0.3;
};

ScalePoint point_of(const Machine& machine, double units, double batch, std::string family = "alpha") {
    ScalePoint point{.benchmark = "cosmoflow",
                     .family = std::move(family),
                     .label = std::to_string(units),
                     .units = units,
                     .batch = batch};
    point.train_samples = machine.samples;
    point.epochs = machine.epochs_at_64 * std::pow(batch / 64, machine.exponent);
    const double step = machine.constant + machine.work * batch / units + machine.messages * std::log2(units);
    point.epoch_seconds = machine.samples / batch * step;
    point.staging = machine.staging_constant + machine.staging_shared / units;
    point.other = machine.other;
    point.seconds = *point.staging + machine.other + point.epochs * point.epoch_seconds;
    return point;
}

std::vector<ScalePoint> points_of(const Machine& machine) {
    return {point_of(machine, 16, 64), point_of(machine, 64, 64), point_of(machine, 256, 256),
            point_of(machine, 1024, 512), point_of(machine, 4096, 2048)};
}

TEST(bench_prediction, laws_are_found_again) {
    const Machine machine;
    const auto models = fit_families(points_of(machine));
    ASSERT_EQ(models.size(), 1U);
    const FamilyModel& model = models[0];
    EXPECT_EQ(model.epochs.kind, EpochLaw::Kind::kPower);
    EXPECT_NEAR(model.epochs.b, 0.3, 1e-9);
    EXPECT_NEAR(model.steps.constant, 0.02, 1e-9);
    EXPECT_NEAR(model.steps.work, 0.5, 1e-9);
    EXPECT_NEAR(model.steps.messages, 0.004, 1e-9);
    EXPECT_NEAR(model.staging->constant, 10, 1e-6);
    EXPECT_NEAR(model.staging->shared, 4000, 1e-5);
    EXPECT_EQ(model.held_out.size(), 5U);
    EXPECT_LT(model.worst_error.value(), 1e-6);
    EXPECT_EQ(model.epochs.formula(), "5.743 · B^0.3");

    const ScalePoint truth = point_of(machine, 512, 1024);
    const auto predicted = predict(model, 512, 1024);
    ASSERT_TRUE(predicted);
    EXPECT_NEAR(predicted->seconds, truth.seconds, truth.seconds * 1e-9);
    EXPECT_NEAR(predicted->unit_hours, truth.seconds * 512 / 3600, truth.seconds * 1e-6);
    EXPECT_TRUE(predicted->notes.empty());
    EXPECT_EQ(
        predict(model, 65536, 512)->notes,
        (std::vector<std::string>{"units 65536 lies outside of what was measured, 16 to 4096",
                                  "fewer samples in a batch than units: a sample would have to be split"}));
}

TEST(bench_prediction, held_out_errors_are_those_of_fits_that_did_not_see_the_scale) {
    // The scale with 64 units takes twice as long as the laws of the others say: held out, it is predicted at half.
    const Machine machine;
    auto points = points_of(machine);
    points[1].epoch_seconds *= 2;
    points[1].seconds = *points[1].staging + machine.other + points[1].epochs * points[1].epoch_seconds;
    const auto models = fit_families(points);
    const HeldOut* odd = nullptr;
    for (const HeldOut& one : models.at(0).held_out)
        if (one.units == 64) odd = &one;
    ASSERT_TRUE(odd);
    const ScalePoint clean = point_of(machine, 64, 64);
    EXPECT_NEAR(odd->predicted, clean.seconds, clean.seconds * 1e-6);
    EXPECT_NEAR(odd->error(), clean.seconds / points[1].seconds - 1, 1e-6);
    EXPECT_GE(models[0].worst_error.value(), std::abs(odd->error()));
}

TEST(bench_prediction, epochs_are_learned_from_other_machines) {
    const Machine machine;
    const auto models =
        fit_families(std::vector{point_of(machine, 16, 64, "alpha"), point_of(machine, 64, 512, "beta")});
    ASSERT_EQ(models.size(), 2U);
    for (const FamilyModel& model : models) {
        EXPECT_NEAR(model.epochs.b, 0.3, 1e-9) << model.family;
        EXPECT_FALSE(model.mean_error) << "one scale of a machine cannot be held out";
        ASSERT_EQ(model.notes.size(), 1U);
        EXPECT_TRUE(model.notes[0].starts_with("one scale:"));
    }
}

TEST(bench_prediction, logarithmic_epochs_are_chosen_where_they_fit) {
    const Machine machine;
    auto points = points_of(machine);
    for (ScalePoint& point : points) {
        point.epochs = 5 + 6 * std::log(point.batch);
        point.seconds = *point.staging + machine.other + point.epochs * point.epoch_seconds;
    }
    const auto models = fit_families(points);
    EXPECT_EQ(models.at(0).epochs.kind, EpochLaw::Kind::kLogarithmic);
    EXPECT_NEAR(models[0].epochs.a, 5, 1e-9);
    EXPECT_NEAR(models[0].epochs.b, 6, 1e-9);
    EXPECT_EQ(models[0].epochs.formula(), "5 + 6 · ln B");
}

TEST(bench_prediction, requests_are_read) {
    EXPECT_EQ(parse_prediction("units=8,batch=16")->units, 8.0);
    EXPECT_EQ(parse_prediction(" batch = 16 ")->batch, 16.0);
    EXPECT_FALSE(parse_prediction("units=8")->batch);
    for (const char* wrong :
         {"", "units", "units=", "units=0", "units=nan", "units=1e999", "cores=3", "units=3,"})
        EXPECT_FALSE(parse_prediction(wrong)) << wrong;
    EXPECT_EQ(parse_prediction("cores=3").error().message(), "--predict cores=3: \"cores\" cannot be chosen");
    const auto models = fit_families(points_of({}));
    EXPECT_FALSE(predict(models[0], 0, 64));
    EXPECT_FALSE(predict(models[0], NAN, 64));
}

TEST(bench_placement, nodes_that_hold_the_data_keep_a_tenth_free) {
    EXPECT_EQ(nodes_that_hold(9e12, 1e12), 10.0);
    EXPECT_EQ(nodes_that_hold(9.1e12, 1e12), 11.0);
    EXPECT_EQ(nodes_that_hold(1, 1e12), 1.0);
    EXPECT_FALSE(nodes_that_hold(0, 1e12));
    EXPECT_FALSE(nodes_that_hold(1, NAN));
}

SystemResult system_of(const ScalePoint& point) {
    SystemResult system;
    system.benchmark = point.benchmark;
    system.family = system.name = point.family;
    system.units = point.units;
    system.nodes = point.units / 4;
    system.batch = point.batch;
    system.seconds.mean = point.seconds;
    system.staging.mean = point.staging;
    system.train_samples = point.train_samples;
    return system;
}

TEST(bench_placement, says_from_which_scale_on_data_fit_and_what_staging_costs) {
    const Machine machine;
    const auto points = points_of(machine);
    std::vector<SystemResult> systems;
    for (const ScalePoint& point : points) systems.push_back(system_of(point));
    const auto placements = place_data(systems, fit_families(points), 9e12, {.memory = 1e11, .flash = 1e12});
    ASSERT_EQ(placements.size(), 1U);
    const Placement& placement = placements[0];
    EXPECT_EQ(placement.nodes_for_flash, 10.0);
    EXPECT_EQ(placement.nodes_for_memory, 100.0);
    ASSERT_EQ(placement.rows.size(), 7U);
    EXPECT_FALSE(*placement.rows[0].fits_flash) << "4 nodes";
    EXPECT_TRUE(*placement.rows[1].fits_flash) << "16 nodes";
    EXPECT_FALSE(*placement.rows[2].fits_memory) << "64 nodes";
    EXPECT_TRUE(*placement.rows[3].fits_memory) << "256 nodes";
    const PlacementRow& flash = placement.rows[5];
    EXPECT_EQ(flash.label, "fits local flash");
    EXPECT_DOUBLE_EQ(flash.units, 40);
    EXPECT_NEAR(flash.staging.value(), 10 + 4000 / 40.0, 1e-6);
    EXPECT_NEAR(flash.bytes_per_second_and_node.value(), 9e11 / 110, 1);
    EXPECT_NEAR(flash.staging_share.value(), 110 / point_of(machine, 40, 2048).seconds, 1e-9);
}

TEST(bench_placement, says_what_is_not_known) {
    const auto points = points_of({});
    const std::vector<SystemResult> systems = {system_of(points[0])};
    EXPECT_EQ(place_data(systems, {}, std::nullopt, {})[0].missing,
              "the size of the data set is not known: give --data-bytes");
    EXPECT_EQ(place_data(systems, {}, 1e12, {})[0].missing,
              "what a node can hold is not known: give --node-memory and --node-flash");
    std::vector<SystemResult> without_nodes = systems;
    without_nodes[0].nodes.reset();
    EXPECT_EQ(place_data(without_nodes, {}, 1e12, {.memory = 1e11})[0].missing,
              "the number of nodes is not known");
    EXPECT_EQ(
        place_data(without_nodes, {}, 1e12, {})[0].missing,
        "what a node can hold is not known: give --node-memory and --node-flash; the number of nodes is "
        "not known");
    EXPECT_EQ(published_data_bytes("cosmoflow", 524'288), 1.7e12);
    EXPECT_FALSE(published_data_bytes("cosmoflow", 1024));
}

}  // namespace
}  // namespace belay::bench
