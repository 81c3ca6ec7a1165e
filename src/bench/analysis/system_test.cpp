#include "bench/analysis/analysis.h"
#include "bench/analysis/runs_for_tests.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<RunInput> runs_of(const MadeRun& like, size_t count) {
    std::vector<RunInput> runs;
    for (size_t i = 0; i < count; ++i) {
        MadeRun made = like;
        made.epochs = like.epochs + static_cast<double>(i);
        made.start += 100'000 * static_cast<double>(i);
        runs.push_back(make_run(made, "result_" + std::to_string(i) + ".txt"));
    }
    return runs;
}

std::optional<size_t> five(std::string_view) {
    return 5;
}

TEST(bench_system, runs_are_grouped_by_benchmark_scale_and_batch) {
    std::vector<RunInput> inputs;
    for (const MadeRun& like :
         {MadeRun{}, MadeRun{.nodes = 8}, MadeRun{.batch = 128}, MadeRun{.division = "open"}})
        for (RunInput& run : runs_of(like, 5)) inputs.push_back(std::move(run));
    const auto systems = group_runs(inputs, {.runs_wanted = five});
    ASSERT_EQ(systems.size(), 4U);
    EXPECT_EQ(systems[0].units, 16.0);
    EXPECT_EQ(systems[3].units, 32.0);
    EXPECT_EQ(systems[2].batch, 128.0);
    EXPECT_EQ(systems[1].division, "open");
    for (const SystemResult& system : systems) EXPECT_EQ(system.counted.size(), 3U);
    // Of 10 to 14 epochs, 11 to 13 count.
    EXPECT_DOUBLE_EQ(systems[0].epochs.mean.value(), 12);
    EXPECT_DOUBLE_EQ(systems[0].epochs.deviation.value(), 1);
    EXPECT_DOUBLE_EQ(systems[0].seconds.mean.value(), 1265);
    EXPECT_DOUBLE_EQ(systems[0].evaluation_share.value(), 240 / 1265.0);
    EXPECT_DOUBLE_EQ(systems[0].staging_per_epoch.value(), 0.6);
    EXPECT_DOUBLE_EQ(systems[0].sample_throughput.mean.value(), 12);
    EXPECT_NEAR(systems[0].model_error.value(), -5 / 1265.0, 1e-4);
    EXPECT_DOUBLE_EQ(systems[3].efficiency.value(), 0.5) << "twice the units, as fast";
    EXPECT_DOUBLE_EQ(systems[0].efficiency.value(), 1);
}

TEST(bench_system, families_are_what_names_have_in_common) {
    EXPECT_EQ(family_of("fugaku_512xA64FX_tensorflow_closed"), "fugaku");
    EXPECT_EQ(family_of("daint_gpu_n128_tf2.2.0"), "daint");
    EXPECT_EQ(family_of("node"), "node");
    EXPECT_EQ(family_of("512_fugaku"), "512_fugaku") << "the head is the scale";
    EXPECT_EQ(family_of("_x"), "_x");
    EXPECT_EQ(family_of(""), "");
}

TEST(bench_system, a_failed_run_is_named_and_left_out) {
    auto inputs = runs_of({}, 5);
    inputs[2].facts.success = false;
    const auto systems = group_runs(inputs, {.runs_wanted = five});
    ASSERT_EQ(systems.size(), 1U);
    EXPECT_EQ(systems[0].counted, (std::vector<size_t>{1, 3, 4}))
        << "it is the slowest: only the fastest is dropped besides";
    ASSERT_EQ(systems[0].notes.size(), 1U);
    EXPECT_EQ(systems[0].notes[0], "1 of 5 runs left out: run_stop's status is not success");
}

TEST(bench_system, means_stand_only_for_what_all_runs_logged) {
    auto inputs = runs_of({}, 5);
    inputs[1].facts.staging_seconds.reset();
    const auto systems = group_runs(inputs, {.runs_wanted = five});
    EXPECT_FALSE(systems[0].staging.mean);
    EXPECT_FALSE(systems[0].staging_per_epoch);
    EXPECT_TRUE(systems[0].seconds.mean);
}

TEST(bench_system, adjustments_stretch_the_runs_of_one_system) {
    const auto inputs = runs_of({}, 5);
    const auto systems = group_runs(inputs, {.runs_wanted = five, .adjustments = {{"alpha_x", 1.5}}});
    EXPECT_DOUBLE_EQ(systems[0].epochs.mean.value(), 18);
    EXPECT_DOUBLE_EQ(systems[0].seconds.mean.value(), 60 + 1205 * 1.5);
    EXPECT_EQ(systems[0].notes.back(), "epochs and all times but staging were multiplied by 1.5000");
}

TEST(bench_system, instances_of_weak_scaling_all_count) {
    auto inputs = runs_of({}, 3);
    for (RunInput& input : inputs) {
        input.scaling = "weak";
        input.facts.run_stop = *input.facts.run_stop - *input.facts.run_start + 10;
        input.facts.run_start = 10;
    }
    const auto systems = group_runs(inputs, {.runs_wanted = five});
    EXPECT_EQ(systems[0].counted.size(), 3U);
    EXPECT_DOUBLE_EQ(systems[0].time_to_train_all.value(), 1265);
    EXPECT_TRUE(overlap(systems[0].runs));
    EXPECT_FALSE(overlap(group_runs(runs_of({}, 3), {})[0].runs));
}

// What no input may do is crash, and each must say what is missing.
TEST(bench_analysis, bad_input_never_crashes_and_says_what_is_missing) {
    const Analysis none = analyze_runs({}, {});
    EXPECT_EQ(none.figures.size(), 7U);
    for (const Figure& figure : none.figures) EXPECT_NE(figure.missing, "") << figure.id;
    EXPECT_EQ(none.notes, std::vector<std::string>{"no run was given"});

    std::vector<std::vector<RunInput>> inputs;
    inputs.push_back({RunInput{}});
    inputs.push_back({make_run({})});
    inputs.push_back({make_run({}), make_run({}), make_run({}), make_run({})});
    inputs.push_back({make_run({.epochs = 0}), make_run({.epochs = 0}), make_run({.epochs = 0})});
    for (double bad : {kNotANumber, std::numeric_limits<double>::infinity(), -1.0, 0.0, 1e300}) {
        for (auto member : {&LogFacts::run_start, &LogFacts::run_stop, &LogFacts::staging_seconds,
                            &LogFacts::evaluation_seconds, &LogFacts::epochs_seconds, &LogFacts::epochs,
                            &LogFacts::global_batch_size, &LogFacts::train_samples, &LogFacts::eval_samples,
                            &LogFacts::nodes, &LogFacts::accelerators_per_node}) {
            inputs.push_back(runs_of({}, 4));
            for (RunInput& run : inputs.back()) run.facts.*member = bad;
            for (RunInput& run : runs_of({.nodes = 8}, 3)) inputs.back().push_back(std::move(run));
        }
    }
    AnalysisOptions options{.predictions = {{.units = 64.0, .batch = 128.0}, {}},
                            .data_bytes = 1e12,
                            .capacity = {.memory = 1e11, .flash = 1e12}};
    for (const auto& runs : inputs) {
        const Analysis analysis = analyze_runs(runs, options);
        const std::string text = to_json(analysis, true).dump();
        EXPECT_EQ(text.find("nan"), text.npos);
        for (const auto& [name, csv] : all_csv(analysis)) {
            EXPECT_FALSE(csv.empty());
            EXPECT_EQ(csv.find("nan"), csv.npos) << name;
        }
    }
    const Analysis zero = analyze_runs(inputs[3], options);
    EXPECT_EQ(zero.systems[0].notes[0], "3 of 3 runs left out: it has zero epochs");
    EXPECT_TRUE(std::ranges::find(zero.notes,
                                  "nothing can be predicted: no system has units, a batch size, epochs and a "
                                  "run that ended with success") != zero.notes.end());
    const Analysis equal = analyze_runs(inputs[2], options);
    EXPECT_EQ(equal.systems[0].variability_missing, "the runs are equal");
    EXPECT_NE(equal.figures[3].missing, "");
    const Analysis one = analyze_runs(inputs[1], options);
    EXPECT_EQ(one.systems[0].notes[0], "one run: the fastest and the slowest cannot be left out");
    EXPECT_EQ(one.systems[0].variability_missing, "at least two runs are needed");
}

}  // namespace
}  // namespace belay::bench
