#include "bench/summary/score.h"

#include "bench/summary/seeds.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScoredRun run_of(double minutes) {
    return {.compliant = true, .minutes = minutes};
}
const ScoredRun kFailed{.compliant = false, .minutes = 1.0};

TEST(bench, time_to_train_drops_the_fastest_and_the_slowest_run) {
    const std::vector<ScoredRun> runs = {run_of(100), run_of(3), run_of(5), run_of(4), run_of(1)};
    const TimeToTrain score = time_to_train(runs);
    EXPECT_DOUBLE_EQ(score.minutes.value(), 4);
    EXPECT_EQ(score.dropped, 0u);
    EXPECT_FALSE(score.minutes_with_staging) << "no run says how long it staged";
}

TEST(bench, time_to_train_takes_one_failed_run_for_the_slowest) {
    const std::vector<ScoredRun> one = {run_of(100), kFailed, run_of(5), run_of(4), run_of(1)};
    EXPECT_DOUBLE_EQ(time_to_train(one).minutes.value(), (100 + 5 + 4) / 3.0);
    const std::vector<ScoredRun> two = {run_of(100), kFailed, run_of(5), kFailed, run_of(1)};
    EXPECT_FALSE(time_to_train(two).minutes);
    EXPECT_EQ(time_to_train(two).dropped, 2u);
    const std::vector<ScoredRun> without_time = {{.compliant = true}, run_of(5), run_of(4), run_of(1)};
    EXPECT_DOUBLE_EQ(time_to_train(without_time).minutes.value(), 4.5);
}

TEST(bench, time_to_train_takes_a_run_without_a_finite_time_for_the_slowest) {
    for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const std::vector<ScoredRun> one = {run_of(none), run_of(5), run_of(4), run_of(1)};
        EXPECT_DOUBLE_EQ(time_to_train(one).minutes.value(), 4.5) << none;
        EXPECT_EQ(time_to_train(one).dropped, 1u) << none;
    }
}

TEST(bench, time_to_train_needs_a_run_that_is_left) {
    EXPECT_FALSE(time_to_train(std::vector{run_of(1), run_of(2)}).minutes);
    EXPECT_FALSE(time_to_train(std::vector{run_of(1), kFailed}).minutes);
    EXPECT_FALSE(time_to_train({}).minutes);
}

TEST(bench, time_to_train_is_told_with_and_without_staging) {
    std::vector<ScoredRun> runs;
    for (double minutes : {9, 10, 12, 14, 99}) {
        runs.push_back(run_of(minutes));
        runs.back().staging = 2;
    }
    EXPECT_DOUBLE_EQ(time_to_train(runs).minutes_with_staging.value(), 12);
    EXPECT_DOUBLE_EQ(time_to_train(runs).minutes_without_staging.value(), 10);
    for (ScoredRun& run : runs) run.staging_in_run = false;
    EXPECT_DOUBLE_EQ(time_to_train(runs).minutes_with_staging.value(), 14);
    EXPECT_DOUBLE_EQ(time_to_train(runs).minutes_without_staging.value(), 12);
    runs[2].staging.reset();
    EXPECT_FALSE(time_to_train(runs).minutes_with_staging);
}

ScoredRun instance(double start, double stop, double accelerators = 16) {
    return {.compliant = true,
            .minutes = stop - start,
            .start = start,
            .stop = stop,
            .accelerators = accelerators};
}

TEST(bench, throughput_lasts_from_the_first_start_to_the_last_stop) {
    std::vector<ScoredRun> runs = {instance(10, 30), instance(12, 70), instance(11, 50)};
    runs.push_back({.compliant = false, .minutes = 500.0, .start = 0.0, .stop = 500.0});
    const Throughput score = throughput(runs, 3);
    EXPECT_DOUBLE_EQ(score.minutes.value(), 60);
    EXPECT_EQ(score.models, 3u);
    EXPECT_EQ(score.accelerators_per_model, 16);
    EXPECT_FALSE(score.scales_differ);
    EXPECT_EQ(score.most_at_once, 3u);
    EXPECT_EQ(throughput(std::vector{instance(1, 2), instance(2, 3)}, 1).most_at_once, 1u);
    EXPECT_DOUBLE_EQ(score.models_per_day().value(), 72);
    EXPECT_FALSE(throughput(runs, 4).minutes) << "M' < N";
    EXPECT_FALSE(throughput(runs, 4).models_per_day());
    runs.push_back(instance(10, 20, 32));
    EXPECT_TRUE(throughput(runs, 3).scales_differ);
    EXPECT_FALSE(throughput({}, 0).minutes);
}

TEST(bench, throughput_scale_fits_the_system) {
    EXPECT_EQ(scale_problem(128, 82944, 648, 648), "") << "Fugaku in round 1.0";
    EXPECT_THAT(scale_problem(4096, 16, 256, 1), HasSubstr("more than the 16 of the system"));
    EXPECT_THAT(scale_problem(16, 4096, 10, 10), HasSubstr("more than the 160 of all 10 instances"));
    EXPECT_THAT(scale_problem(2048, 2048, 128, 128), HasSubstr("128 instances ran at once"));
    EXPECT_EQ(scale_problem(16, 16, 2, 1), "") << "one after the other";
}

TEST(bench, score_is_extrapolated_to_instances_that_fit) {
    const Extrapolation day = extrapolated(60, 16, 100).value();
    EXPECT_EQ(day.models, 6);
    EXPECT_DOUBLE_EQ(day.models_per_day, 144);
    EXPECT_FALSE(extrapolated(60, 16, 15)) << "not one fits";
    EXPECT_FALSE(extrapolated(0, 16, 100));
}

SeedsOfRun seeds_of(std::string file, std::map<std::string, LoggedSeed, std::less<>> seeds) {
    return {std::move(file), std::move(seeds)};
}

TEST(bench, seeds_are_unique_for_each_line_of_the_code) {
    const std::vector<SeedsOfRun> good = {seeds_of("result_0.txt", {{"main.py:7", {"1"}}}),
                                          seeds_of("result_1.txt", {{"main.py:7", {"2"}}}),
                                          seeds_of("result_2.txt", {{"main.py:8", {"1"}}})};
    EXPECT_THAT(check_seeds(good).errors, IsEmpty());
    EXPECT_THAT(check_seeds(good).warnings, IsEmpty());
    const std::vector<SeedsOfRun> repeated = {seeds_of("result_0.txt", {{"main.py:7", {"1"}}}),
                                              seeds_of("result_1.txt", {{"main.py:7", {"1.0"}}})};
    EXPECT_THAT(check_seeds(repeated).errors,
                ElementsAre("result_1.txt logs the seed 1 at main.py:7, as result_0.txt does"));
}

TEST(bench, seeds_are_whole_numbers_and_each_run_has_one) {
    const std::vector<SeedsOfRun> runs = {seeds_of("a", {}), seeds_of("b", {{"m:1", {"x", true}}}),
                                          seeds_of("c", {{"m:1", {"1"}}, {"m:2", {"2"}}})};
    const SeedVerdict verdict = check_seeds(runs);
    EXPECT_THAT(verdict.errors, ElementsAre(HasSubstr("a logs no seed"),
                                            HasSubstr("\"x\" at m:1, which is not a whole number")));
    EXPECT_THAT(verdict.warnings, ElementsAre("c logs 2 seeds"));
}

TEST(bench, seeds_are_what_int_makes_of_them_in_python) {
    struct Row {
        LoggedSeed seed;
        std::string_view whole;  // empty: none
    };
    const std::string long_one = "123456789012345678901234567890";
    for (const Row& row : {Row{{"7"}, "7"},
                           Row{{"-7"}, "-7"},
                           Row{{"7.9"}, "7"},
                           Row{{"-0.5"}, "0"},
                           Row{{"1000.0"}, "1000"},
                           Row{{"1e+16"}, "10000000000000000"},
                           Row{{"true"}, "1"},
                           Row{{"false"}, "0"},
                           Row{{"null"}, ""},
                           Row{{"[7]"}, ""},
                           Row{{"NaN"}, ""},
                           Row{{"Infinity"}, ""},
                           Row{{long_one}, long_one},
                           Row{{"7", true}, "7"},
                           Row{{" +007\n", true}, "7"},
                           Row{{"-0", true}, "0"},
                           Row{{"1_000", true}, "1000"},
                           Row{{long_one, true}, long_one},
                           Row{{"7.9", true}, ""},
                           Row{{"1e3", true}, ""},
                           Row{{"true", true}, ""},
                           Row{{"1__0", true}, ""},
                           Row{{"_1", true}, ""},
                           Row{{"1_", true}, ""},
                           Row{{"+", true}, ""},
                           Row{{"- 7", true}, ""},
                           Row{{"", true}, ""}}) {
        const SeedsOfRun run = seeds_of("a", {{"m:1", row.seed}});
        const auto errors = check_seeds(std::vector{run, run}).errors;
        if (row.whole.empty())
            EXPECT_THAT(errors, ElementsAre(HasSubstr("not a whole number"), HasSubstr("not a whole number")))
                << row.seed.value;
        else
            EXPECT_THAT(errors, ElementsAre(fmt::format("a logs the seed {} at m:1, as a does", row.whole)))
                << row.seed.value;
    }
}

}  // namespace
}  // namespace belay::bench
