#include "progress/mllog_rows.h"

#include "core/json.h"

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

ProgressEvent event_of(std::string_view line) {
    core::Result<std::optional<MllogEvent>> logged = parse_mllog_line(line);
    EXPECT_TRUE(logged && *logged) << line;
    return progress_of(**logged).value();
}

TEST(progress, tracked_stats_are_training) {
    ProgressEvent event = event_of(
        R"(:::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": "POINT_IN_TIME", )"
        R"("key": "tracked_stats", )"
        R"("value": {"loss": 0.5, "throughput": 120.5, "flops_per_second": 2e9, "fp32_flops_per_second": 2e9, "fp64_flops_per_second": 1, "memory_bytes_per_second": 3e9, "step": 40, "lr": 0.001, "grad_norm": 2, )"
        R"("step_seconds": 0.25, "data_wait_seconds": 0.01, "exposed_communication_seconds": 0.02, )"
        R"("note": "x", "skipped": true}, "metadata": {"file": "a.py", "lineno": 3, )"
        R"("epoch_num": 2, "samples_count": 320}})");
    ProgressEvent expected{.source = kFromMllog, .kind = kTrain};
    expected.time = core::time_from_nanoseconds(1700000000123000000);
    expected.key = "tracked_stats";
    expected.loss = 0.5;
    expected.samples_per_second = 120.5;
    expected.flops_per_second = 2e9;
    expected.fp32_flops_per_second = 2e9;
    expected.fp64_flops_per_second = 1;
    expected.memory_bytes_per_second = 3e9;
    expected.data_wait_seconds = 0.01;
    expected.exposed_communication_seconds = 0.02;
    expected.step = 40;
    expected.learning_rate = 0.001;
    expected.gradient_norm = 2;
    expected.step_seconds = 0.25;
    expected.epoch = 2;
    expected.samples = 320;
    EXPECT_EQ(event, expected);
}

TEST(progress, the_exact_name_counts_before_its_synonym) {
    ProgressEvent event = event_of(
        R"(:::MLLOG {"key": "tracked_stats", "value": {"throughput": 1, "samples_per_second": 2, "lr": 3}})");
    EXPECT_EQ(event.samples_per_second, 2);
    EXPECT_EQ(event.learning_rate, 3);
}

TEST(progress, evaluations_and_training_loss_are_known) {
    ProgressEvent error =
        event_of(R"(:::MLLOG {"key": "eval_error", "value": 0.12, "metadata": {"epoch_num": 0}})");
    EXPECT_EQ(error.kind, kEvaluation);
    EXPECT_EQ(error.metric, 0.12);
    EXPECT_EQ(error.epoch, 0);
    EXPECT_FALSE(error.time.has_value());
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "eval_accuracy", "value": 1})").metric, 1);
    ProgressEvent loss =
        event_of(R"(:::MLLOG {"key": "train_loss", "value": 3.5, "metadata": {"epoch_num": 1.5}})");
    EXPECT_EQ(loss.kind, kTrain);
    EXPECT_EQ(loss.loss, 3.5);
    EXPECT_EQ(loss.epoch, 1.5);
}

TEST(progress, all_else_is_a_mark) {
    ProgressEvent seed = event_of(R"(:::MLLOG {"key": "seed", "value": 1234, "metadata": null})");
    EXPECT_EQ(seed.kind, kMark);
    EXPECT_EQ(seed.value, 1234);
    EXPECT_FALSE(seed.text.has_value());
    ProgressEvent org = event_of(R"(:::MLLOG {"key": "submission_org", "value": "CSCS"})");
    EXPECT_EQ(org.text, "\"CSCS\"");
    EXPECT_FALSE(org.value.has_value());
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "opt_betas", "value": [0.9, 0.999]})").text, "[0.9,0.999]");
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "opt_amsgrad", "value": false})").text, "false");
    ProgressEvent start = event_of(R"(:::MLLOG {"key": "run_start", "value": null, "metadata": {}})");
    EXPECT_FALSE(start.value.has_value());
    EXPECT_FALSE(start.text.has_value());
}

TEST(progress, the_end_of_a_run_keeps_its_status) {
    auto status = [](const char* metadata) {
        return progress_of(
                   {.key = "run_stop", .value = Json(), .metadata = core::parse_ordered_json(metadata)})
            ->text;
    };
    EXPECT_EQ(status(R"({"status": "success"})"), R"("success")");
    EXPECT_EQ(status(R"({"status": null})"), std::nullopt);
    EXPECT_EQ(status("[]"), std::nullopt);
}

TEST(progress, known_keys_with_other_values_are_marks) {
    ProgressEvent error = event_of(R"(:::MLLOG {"key": "eval_error", "value": "high"})");
    EXPECT_EQ(error.kind, kMark);
    EXPECT_EQ(error.text, "\"high\"");
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "tracked_stats", "value": {"speed": "x"}})").kind, kMark);
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "tracked_stats", "value": 5})").value, 5);
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "train_loss", "value": true})").kind, kMark);
}

TEST(progress, values_that_are_not_finite_are_noted) {
    ProgressEvent loss = event_of(R"(:::MLLOG {"key": "train_loss", "value": NaN})");
    EXPECT_EQ(loss.kind, kTrain);
    EXPECT_FALSE(loss.loss.has_value());
    EXPECT_EQ(loss.text, R"({"train_loss":"NaN"})");
    EXPECT_EQ(event_of(R"(:::MLLOG {"key": "x", "value": -Infinity})").text, R"({"value":"-Infinity"})");
}

TEST(progress, long_text_is_cut_between_characters) {
    Json value = std::string(kLongestText - 2, 'x') + "üü";
    std::string line = format_mllog_line(1, kPointInTime, "note", value, Json::object());
    ProgressEvent event = event_of(line);
    EXPECT_EQ(event.text->size(), kLongestText - 1);  // a quote and the x; the ü would be cut in two
}

TEST(progress, time_outside_the_calendar_is_nothing) {
    EXPECT_FALSE(event_of(R"(:::MLLOG {"time_ms": 1e300, "key": "x", "value": 1})").time.has_value());
    EXPECT_EQ(
        core::to_nanoseconds(*event_of(R"(:::MLLOG {"time_ms": "1500.25", "key": "x", "value": 1})").time),
        1500250000);
    EXPECT_EQ(core::to_nanoseconds(*event_of(R"(:::MLLOG {"time_ms": -1, "key": "x", "value": 1})").time),
              -1000000);
}

TEST(progress, event_without_key_tells_nothing) {
    EXPECT_FALSE(progress_of(MllogEvent()).has_value());
}

}  // namespace
}  // namespace belay::progress
