// Each row of the summariser's and the package checker's behaviour (mlcommons/logging 4.1.59), on packages on disk.
#include "bench/summary/package_for_tests.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(bench, summary_of_a_sound_package_has_no_errors) {
    PackageOnDisk disk;
    disk.add_logs(5);
    const SummaryRow row = disk.only_row();
    EXPECT_THAT(row.errors, IsEmpty());
    EXPECT_THAT(row.warnings, IsEmpty());
    EXPECT_EQ(row.submitter, "Org");
    EXPECT_EQ(row.system, "machine");
    EXPECT_EQ(row.benchmark, "oc20");
    EXPECT_EQ(row.mode, "time_to_train");
    EXPECT_EQ(row.division, "closed");
    EXPECT_EQ(row.rcp, "pass");
    EXPECT_DOUBLE_EQ(row.score_minutes.value(), 12);
    EXPECT_EQ(row.scaling, 1);
    EXPECT_EQ(row.accelerators, 32);
    EXPECT_EQ(row.accelerators_per_model, 32);
    EXPECT_EQ(row.batch, 256);
}

TEST(bench, summary_counts_a_log_that_does_not_comply_as_the_slowest) {
    PackageOnDisk disk;
    disk.add_logs(5);
    disk.write("results/machine/strong/oc20/result_0.txt",
               "benchmark=oc20 fail minutes=1 seed=0 epochs=20 batch=256");
    const SummaryRow one = disk.only_row();
    EXPECT_THAT(one.errors, IsEmpty());
    EXPECT_THAT(one.warnings, Contains("result_0.txt does not comply: line 7: is not at most 0.036"));
    EXPECT_DOUBLE_EQ(one.score_minutes.value(), 13) << "of 12, 13 and 14";
    disk.write("results/machine/strong/oc20/result_1.txt",
               "benchmark=oc20 fail minutes=1 seed=1 epochs=20 batch=256");
    const SummaryRow two = disk.only_row();
    EXPECT_THAT(two.errors, ElementsAre("2 logs do not comply"));
    EXPECT_FALSE(two.score_minutes);
    EXPECT_EQ(two.failed_logs, 2);
}

TEST(bench, summary_runs_the_rcp_test_before_it_scores) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=19 batch=256");
    const SummaryRow row = disk.only_row();
    EXPECT_EQ(row.rcp, "pass");
    EXPECT_NEAR(row.scaling.value(), 19.75 / 19, 1e-12);
    EXPECT_NEAR(row.score_minutes.value(), 12 * 19.75 / 19, 1e-9);
    const SummaryRow official = disk.official_row();
    EXPECT_EQ(official.score_minutes, 12) << "scaling.json was read before it was written";
    EXPECT_THAT(official.warnings, Contains(HasSubstr("scaling.json is missing")));
    EXPECT_FALSE(std::filesystem::exists(disk.package() / "results/machine/strong/oc20/scaling.json"));

    disk.only_row({.write_scaling = true});
    const auto written = core::read_file(disk.package() / "results/machine/strong/oc20/scaling.json").value();
    EXPECT_EQ(written, "{\"scaling_factor\": 1.0394736842105263}");
    EXPECT_NEAR(disk.official_row().score_minutes.value(), 12 * 19.75 / 19, 1e-9);
    EXPECT_THAT(disk.official_row().warnings, IsEmpty());
    disk.add_logs(5);
    EXPECT_EQ(disk.only_row({.write_scaling = true}).score_minutes, 12);
    EXPECT_FALSE(std::filesystem::exists(disk.package() / "results/machine/strong/oc20/scaling.json"))
        << "there is nothing to scale any more";
}

TEST(bench, summary_says_where_scaling_json_is_not_what_the_test_gives) {
    PackageOnDisk disk;
    disk.add_logs(5);
    disk.write("results/machine/strong/oc20/scaling.json", "{\"scaling_factor\": 1.5}");
    EXPECT_EQ(disk.only_row().score_minutes, 12);
    EXPECT_THAT(disk.only_row().warnings, ElementsAre(HasSubstr("scaling.json says 1.5")));
    EXPECT_EQ(disk.official_row().score_minutes, 18);
    disk.write("results/machine/strong/oc20/scaling.json", "{}");
    EXPECT_THAT(disk.only_row().errors, ElementsAre(HasSubstr("\"scaling_factor\" is not a number above 0")));
}

TEST(bench, summary_fails_a_submission_that_converges_too_fast) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=18 batch=256");
    const SummaryRow row = disk.only_row();
    EXPECT_EQ(row.rcp, "fail");
    EXPECT_THAT(row.errors, ElementsAre(HasSubstr("RCP: 18.000 epochs on average")));
    EXPECT_EQ(row.score_minutes, 12) << "as the official summariser shows it";
}

TEST(bench, summary_fails_where_runs_did_not_converge_or_batches_differ) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=20 batch=256 aborted");
    EXPECT_THAT(disk.only_row().errors, ElementsAre(HasSubstr("insufficient convergence")));
    disk.add_logs(5);
    disk.add_logs(1, "epochs=20 batch=512");
    EXPECT_THAT(disk.only_row().errors, ElementsAre("RCP: batch sizes differ: 512 and 256"));
    disk.add_logs(5, "epochs=20");
    EXPECT_THAT(disk.only_row().errors, ElementsAre("RCP: a log states no global_batch_size"));
}

TEST(bench, summary_needs_the_right_number_of_logs) {
    PackageOnDisk disk;
    disk.add_logs(6);
    EXPECT_THAT(disk.only_row().errors, ElementsAre(HasSubstr("needs exactly 5")));
    disk.add_logs(4, "epochs=20 batch=256", "results/machine/weak/oc20");
    EXPECT_THAT(disk.rows()[1].errors, Contains("4 logs, and a throughput needs at least 5"));
    disk.add_logs(7, "epochs=20 batch=256", "results/machine/weak/oc20");
    EXPECT_THAT(disk.rows()[1].errors, IsEmpty());
}

TEST(bench, summary_warns_of_other_names) {
    PackageOnDisk disk;
    disk.add_logs(5);
    for (const char* name : {"notes.md", "scaling.json", "package_checker_params", "power/node_0.txt",
                             "pruned_results/result_9.txt"})
        disk.write(fmt::format("results/machine/strong/oc20/{}", name), "{\"scaling_factor\": 1}");
    EXPECT_THAT(disk.only_row().warnings,
                ElementsAre("1 other file beside the logs: notes.md; logs are named "
                            "result_*.txt"));
}

TEST(bench, summary_checks_seeds_and_reference_points_of_the_closed_division_only) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=1 batch=256 seed=4 division=open");
    auto open = disk.description();
    open["division"] = "open";
    disk.describe("machine", open);
    const SummaryRow row = disk.only_row();
    EXPECT_THAT(row.errors, IsEmpty());
    EXPECT_EQ(row.rcp, "na");
    disk.write("results/machine/strong/oc20/scaling.json", "{\"scaling_factor\": 1.5}");
    EXPECT_EQ(disk.only_row().score_minutes, 18) << "a committee's factor";
    disk.describe("machine");
    EXPECT_THAT(disk.only_row().errors,
                Contains(HasSubstr("seeds: result_1.txt logs the seed 4 at train.py:7, as "
                                   "result_0.txt does")));
}

TEST(bench, summary_takes_the_division_of_the_system) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=1 batch=256 division=closed");
    auto open = disk.description();
    open["division"] = "open";
    disk.describe("machine", open);
    const SummaryRow row = disk.only_row();
    EXPECT_EQ(row.rcp, "na") << "checks of the closed division do not apply";
    EXPECT_THAT(row.errors,
                ElementsAre("submission_division is \"closed\" in 5 logs, and the system's description "
                            "says \"open\""));
    EXPECT_THAT(disk.official_row().errors, IsEmpty()) << "the official tools do not compare";
    EXPECT_THAT(disk.official_row().warnings, Contains(HasSubstr("submission_division")));
}

TEST(bench, summary_compares_what_logs_and_description_state) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=20 batch=256 org=Other status=cloud");
    EXPECT_THAT(disk.only_row().errors, IsEmpty());
    EXPECT_THAT(disk.only_row().warnings, ElementsAre(HasSubstr("submission_org is \"Other\" in 5 logs"),
                                                      HasSubstr("submission_status is \"cloud\"")));
    disk.add_logs(5, "epochs=20 batch=256 nodes=6");
    EXPECT_THAT(disk.only_row().warnings,
                ElementsAre("number_of_nodes is 6 in 5 logs, and the system's description says 4"));
    disk.add_logs(5, "epochs=20 batch=256 benchmark=deepcam");
    EXPECT_THAT(disk.only_row().errors, Contains(HasSubstr("submission_benchmark is \"deepcam\"")));
}

TEST(bench, summary_reads_what_is_to_be_let_pass) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=18 batch=256 seed=1");
    EXPECT_EQ(disk.only_row().errors.size(), 2u);
    disk.write("results/machine/package_checker_params", "rcp-bypass\n");
    disk.write("results/machine/strong/oc20/package_checker_params", "seed-checker-bypass\n");
    EXPECT_THAT(disk.only_row().errors, IsEmpty());
    EXPECT_EQ(disk.only_row().rcp, "pass");
    EXPECT_THAT(disk.only_row().warnings, Contains(HasSubstr("let pass by rcp-bypass")));
    EXPECT_EQ(disk.official_row().errors.size(), 2u) << "a line with its newline is not recognised";
    disk.write("results/machine/package_checker_params", "rcp-bypass\nseed-checker-bypass");
    EXPECT_THAT(disk.official_row().errors, ElementsAre(HasSubstr("RCP: "))) << "only the last line counts";
}

TEST(bench, summary_needs_a_whole_system_description) {
    PackageOnDisk disk;
    disk.add_logs(5);
    auto json = disk.description();
    json.erase("cooling");
    json.erase("sw_notes");
    disk.describe("machine", json);
    EXPECT_THAT(disk.rows()[0].errors,
                ElementsAre("systems/machine.json: required fields are missing: cooling, "
                            "sw_notes"));
    EXPECT_TRUE(has_errors(disk.rows()));
    disk.write("systems/machine.json", "[");
    EXPECT_THAT(disk.rows()[0].errors, ElementsAre(HasSubstr("systems/machine.json:1:")));
    std::filesystem::remove(disk.package() / "systems/machine.json");
    EXPECT_THAT(disk.rows()[0].errors, ElementsAre("systems/machine.json is missing"));
    disk.describe("machine");
    disk.describe("other", json);
    EXPECT_EQ(disk.rows()[1].system, "other") << "a description without results is checked too";
}

TEST(bench, summary_skips_what_is_not_a_benchmark_and_refuses_other_scalings) {
    PackageOnDisk disk;
    disk.add_logs(5, "", "results/machine/strong/resnet");
    EXPECT_THAT(disk.only_row().warnings,
                ElementsAre(HasSubstr("\"resnet\" is not a benchmark of these rules")));
    EXPECT_THAT(disk.only_row().errors, IsEmpty());
    EXPECT_THAT(disk.only_row({.judge = {.round = 2}}).errors, IsEmpty());
    std::filesystem::rename(disk.package() / "results/machine/strong",
                            disk.package() / "results/machine/medium");
    EXPECT_THAT(disk.only_row().errors, ElementsAre(HasSubstr("medium is neither \"strong\" nor \"weak\"")));
}

TEST(bench, summary_scores_a_throughput) {
    PackageOnDisk disk;
    disk.add_logs(5);
    disk.add_logs(6, "epochs=20 batch=256 nodes=1", "results/machine/weak/oc20");
    disk.write("results/machine/weak/oc20/result_6.txt",
               "fail benchmark=oc20 minutes=99 seed=6 epochs=20 batch=256");
    const SummaryRow row = disk.rows()[1];
    EXPECT_THAT(row.errors, IsEmpty());
    EXPECT_EQ(row.mode, "throughput");
    EXPECT_NEAR(row.score_minutes.value(), 15, 1e-9) << "from the first start to the last stop";
    EXPECT_EQ(row.models, 6);
    EXPECT_EQ(row.accelerators_per_model, 8);
    EXPECT_EQ(row.accelerators, 32);
    EXPECT_FALSE(row.scaling) << "scaling.json is not for throughputs";
    EXPECT_NEAR(row.models_per_day.value(), 6 * 96, 1e-6);
}

TEST(bench, summary_checks_pruned_logs_of_a_throughput_too) {
    PackageOnDisk disk;
    disk.add_logs(5);
    disk.add_logs(5, "epochs=20 batch=256 nodes=1", "results/machine/weak/oc20");
    disk.add_logs(2, "epochs=20 batch=256 nodes=1", "results/machine/weak/oc20/pruned_results");
    EXPECT_EQ(disk.rows()[1].models, 5);
    EXPECT_THAT(disk.rows()[1].errors, IsEmpty()) << "seeds of pruned logs may repeat";
    EXPECT_THAT(disk.rows()[1].warnings, Not(Contains(HasSubstr("pruned"))));
    disk.write("results/machine/weak/oc20/pruned_results/result_1.txt", "fail");
    EXPECT_THAT(disk.rows()[1].warnings, Contains("1 of 2 logs in pruned_results do not comply"));
}

TEST(bench, summary_warns_where_instances_are_larger_than_the_system) {
    PackageOnDisk disk;
    disk.add_logs(5);
    disk.add_logs(5, "epochs=20 batch=256 nodes=64", "results/machine/weak/oc20");
    EXPECT_THAT(disk.rows()[1].warnings, ElementsAre(HasSubstr("an instance states 512 accelerators")));
    EXPECT_THAT(disk.rows()[1].errors, IsEmpty());
    disk.add_logs(1, "epochs=20 batch=256 nodes=1", "results/machine/weak/oc20");
    EXPECT_THAT(disk.rows()[1].errors, ElementsAre(HasSubstr("different scales")));
}

TEST(bench, summary_accepts_a_throughput_only_beside_a_time_to_train) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=20 batch=256", "results/machine/weak/oc20");
    EXPECT_THAT(disk.only_row().errors, ElementsAre(HasSubstr("only together with a time to train")));
    EXPECT_THAT(disk.official_row().errors, IsEmpty());
}

TEST(bench, summary_tells_times_with_and_without_staging) {
    PackageOnDisk disk;
    disk.add_logs(5, "epochs=20 batch=256 staging=2 start=100 staging_start=101");
    EXPECT_DOUBLE_EQ(disk.only_row().minutes_with_staging.value(), 12);
    EXPECT_DOUBLE_EQ(disk.only_row().minutes_without_staging.value(), 10);
    disk.add_logs(5, "epochs=20 batch=256 staging=2 start=100 staging_start=90");
    EXPECT_DOUBLE_EQ(disk.only_row().minutes_with_staging.value(), 14) << "before run_start";
    EXPECT_DOUBLE_EQ(disk.only_row().minutes_without_staging.value(), 12);
    EXPECT_EQ(disk.only_row().score_minutes, 12);
    disk.add_logs(5, "epochs=20 batch=256 staging=2");
    EXPECT_DOUBLE_EQ(disk.only_row({.judge = {.round = 2}}).minutes_without_staging.value(), 10)
        << "rules 2.0 time staging";
}

TEST(bench, summary_extrapolates_only_where_it_is_asked_to) {
    PackageOnDisk disk;
    disk.add_logs(5);
    EXPECT_FALSE(disk.only_row().extrapolation);
    const SummaryRow row = disk.only_row({.judge = {.extrapolate_to = 320}});
    EXPECT_EQ(row.extrapolation->models, 10);
    EXPECT_DOUBLE_EQ(row.extrapolation->models_per_day, 10 * 120);
    disk.add_logs(8, "epochs=20 batch=256 nodes=1", "results/machine/weak/oc20");
    const SummaryRow weak = disk.rows({.judge = {.extrapolate_to = 64}})[1];
    EXPECT_NEAR(weak.extrapolation->models_per_day, 2 * weak.models_per_day.value(), 1e-6)
        << "twice the accelerators of the system";
}

TEST(bench, summary_of_a_single_folder_needs_no_package) {
    PackageOnDisk disk;
    disk.add_logs(5);
    std::filesystem::remove_all(disk.package() / "systems");
    const auto rows = summarize(disk.package() / "results/machine/strong/oc20", verdict_of_facts, {}).value();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_THAT(rows[0].errors, IsEmpty());
    EXPECT_EQ(rows[0].score_minutes, 12);
    EXPECT_EQ(rows[0].system, "machine");
    EXPECT_EQ(rows[0].division, "closed") << "of the logs";
    std::filesystem::rename(disk.package() / "results/machine/strong/oc20", disk.root() / "runs");
    const auto loose = summarize(disk.root() / "runs", verdict_of_facts, {}).value();
    EXPECT_EQ(loose.at(0).benchmark, "oc20") << "of the logs";
    EXPECT_EQ(loose.at(0).submitter, "Org");
    EXPECT_EQ(loose.at(0).score_minutes, 12);
}

}  // namespace
}  // namespace belay::bench
