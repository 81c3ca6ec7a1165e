// The table of MLPerf HPC v0.7 in the reference (benchmarks.md, 5; from the published logs), as far as its columns determine
// each other: our formulas must agree with them.
#include "bench/analysis/run.h"

#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

struct Row {
    std::string_view name;
    double units, run, staging, epochs, epoch, unit_hours,
        evaluation_share;      // minutes; staging below 0: not counted
    double staging_per_epoch;  // below 0: not in the reference
    double train_samples, eval_samples;
};

// Three of DeepCAM's are means of three runs.
constexpr Row kRows[] = {
    {"HAL-64", 64, 265.59, -1, 55.375, 4.793, 283, .1188, -1, 262144, 65536},
    {"Cori-GPU-64", 64, 364.73, 16.494, 53.875, 6.461, 389, .1192, 2.553, 262144, 65536},
    {"Frontera-RTX-64", 64, 602.23, -1, 49.875, 12.086, 642, .1367, -1, 262144, 65536},
    {"Piz-Daint-128", 128, 461.01, -1, 70.25, 6.563, 983, .0780, -1, 262144, 65536},
    {"Piz-Daint-256", 256, 327.01, -1, 113.125, 2.889, 1395, .0332, -1, 262144, 65536},
    {"ABCI-512", 512, 34.339, 0.763, 100.0, 0.3353, 293, .0409, 2.274, 262144, 65536},
    {"Fugaku-512", 512, 269.59, 1.546, 110.47, 2.420, 2301, .1203, 0.639, 262144, 65536},
    {"Fugaku-8192", 8192, 101.49, 3.766, 92.375, 1.049, 13857, .2163, 3.590, 262144, 65536},
    {"Cori-KNL-512", 512, 536.06, -1, 111.875, 4.775, 4574, .0997, -1, 262144, 65536},
    {"Cori-KNL-1024", 1024, 419.69, -1, 163.25, 2.559, 7163, .0924, -1, 262144, 65536},
    {"ABCI-2048", 2048, 13.212, 0.203, 98.5, 0.1307, 451, .0266, 1.556, 262144, 65536},
    {"Fugaku-16384", 16384, 30.073, 0.880, 158.0, 0.1787, 8212, .2349, 4.927, 262144, 65536},
    {"Cori-GPU-64 DeepCAM", 64, 139.29, -1, 10, 13.929, 148.575, .3627, -1, 121266, 15158},
    {"ABCI-1024 DeepCAM", 1024, 11.706, 2.198, 24, 0.3961, 199.778, .0400, 5.548, 121266, 15158},
    {"ABCI-1024 open DeepCAM", 1024, 10.485, 1.962, 23.667, 0.3603, 178.951, .0131, 5.447, 121266, 15158},
};

// A run that is like the row's mean.
RunInput run_like(const Row& row) {
    RunInput input;
    LogFacts& facts = input.facts;
    facts.success = true;
    facts.run_start = 0;
    facts.run_stop = row.run * 60;
    if (row.staging >= 0) facts.staging_seconds = row.staging * 60;
    facts.epochs = row.epochs;
    facts.evaluations = static_cast<int64_t>(std::lround(row.epochs));
    facts.epochs_seconds = row.epochs * row.epoch * 60;
    facts.evaluation_seconds = row.run * 60 * row.evaluation_share;
    facts.global_batch_size = 1;
    facts.train_samples = row.train_samples;
    facts.eval_samples = row.eval_samples;
    input.units = row.units;
    return input;
}

// Numbers in the table are rounded: a thousandth, and half of the last digit.
void expect_near(double value, double reference, double last_digit, std::string_view what) {
    EXPECT_NEAR(value, reference, reference * 1e-3 + last_digit / 2) << what;
}

TEST(bench_reference, v07_budgets_are_units_times_hours) {
    for (const Row& row : kRows) {
        const auto run = decompose(run_like(row));
        ASSERT_EQ(run.missing, "") << row.name;
        expect_near(run.unit_hours.value(), row.unit_hours,
                    row.unit_hours == std::floor(row.unit_hours) ? 1 : 1e-3, row.name);
    }
}

TEST(bench_reference, v07_staging_in_epochs_follows) {
    size_t count = 0;
    for (const Row& row : kRows) {
        if (row.staging_per_epoch < 0) continue;
        ++count;
        const auto run = decompose(run_like(row));
        // What staging, and the time of an epoch, may be off by in the table.
        const double rounding =
            row.staging_per_epoch * (5e-4 / row.staging + 5e-4 / row.epoch / (row.epoch < 1 ? 10 : 1));
        expect_near(run.staging.value() / run.epoch_seconds.value(), row.staging_per_epoch,
                    1e-3 + 2 * rounding, row.name);
    }
    EXPECT_EQ(count, 8U);
}

TEST(bench_reference, v07_model_explains_the_time_but_for_what_is_not_logged) {
    for (const Row& row : kRows) {
        const auto run = decompose(run_like(row));
        // T_run also has what comes before the first epoch and between epochs: more, and no more than 2 %, or 15 % where data
        // were staged outside of the logged interval.
        EXPECT_LE(run.model_seconds.value(), run.seconds.value() * 1.004) << row.name;
        EXPECT_GE(run.model_seconds.value(), run.seconds.value() * 0.85) << row.name;
        EXPECT_NEAR(run.model_seconds.value() + run.other.value(),
                    std::max(run.seconds.value(), run.model_seconds.value()), 1e-6 * run.seconds.value());
    }
}

TEST(bench_reference, v07_train_throughputs_follow) {
    // Means over runs of E n_t / T_train; of a run that is like the mean they differ by the runs' spread.
    auto train = [](std::string_view name) {
        for (const Row& row : kRows)
            if (row.name == name) return decompose(run_like(row)).train_throughput.value();
        return 0.0;
    };
    EXPECT_NEAR(train("ABCI-512"), 13600, 13600 * 2e-3);
    EXPECT_NEAR(train("ABCI-2048"), 34373, 34373 * 2e-3);
    EXPECT_NEAR(train("Fugaku-16384"), 32615, 32615 * 2e-3);
}

}  // namespace
}  // namespace belay::bench
