#include "record/import/gssr_json.h"

#include "record/import/import_testing.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using enum GssrField;
using namespace import_testing;
using testing::ElementsAre;
using testing::HasSubstr;

// One rank that recorded one GPU every half a second; `samples` of each tag.
std::string recording_of(int rank, int gpu, int step, double start, int samples) {
    std::string values;
    for (int i = 0; i < samples; ++i) values += fmt::format("{}{}", i == 0 ? "" : ", ", 0.5);
    std::string utilization;
    for (int i = 0; i < samples; ++i) utilization += fmt::format("{}{}", i == 0 ? "" : ", ", 80);
    return fmt::format(
        R"({{"metadata": {{"job_id": 4711, "step_id": {}, "label": "run_job_4711_step_0", "hostname": "nid{}",
             "proc_id": {}, "n_gpus": 1, "gpu_ids": [{}], "start_time": {}, "end_time": {}, "elapsed": {},
             "sampling_time": 500, "n_samples": {}, "cmd": "python train.py"}},
            "data": {{"{}": {{"gpu_utilization": [{}], "sm_active": [{}], "fb_used": [{}], "fb_total": [{}]}}}}}})",
        step, rank / 2, rank, gpu, start, start + samples * 0.5, samples * 0.5, samples, gpu, utilization,
        values, utilization, utilization);
}

constexpr double kBegin = 1'700'000'000.25;

std::string name_of(int rank) {
    return fmt::format("run_job_4711_step_0/run_job_4711_step_0_proc_{}.json", rank);
}

TEST(record_import, json_of_the_python_generation_is_read) {
    auto read = parse_gssr_json(recording_of(3, 1, 0, kBegin, 10), "f");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->job_id, 4711);
    EXPECT_EQ(read->step_id, 0);
    EXPECT_EQ(read->host, "nid1");
    EXPECT_EQ(read->rank, 3);
    EXPECT_EQ(read->command, "python train.py");
    ASSERT_EQ(read->gpus.at(1).size(), 10U);
    EXPECT_EQ(read->gpus.at(1)[9][kSmActive].average, 0.5);
    EXPECT_EQ(read->gpus.at(1)[9][kUtilization].average, 80);
    EXPECT_EQ(read->spacing_seconds(), 0.5);
    EXPECT_EQ(core::format_time(read->time_of(0)), "2023-11-14T22:13:20.250000Z");
    EXPECT_EQ(core::format_time(read->time_of(9)), "2023-11-14T22:13:24.750000Z");
}

TEST(record_import, samples_of_a_slow_recorder_are_as_far_apart_as_it_took_them) {
    std::string text = recording_of(0, 0, 0, kBegin, 10);
    size_t end = text.find("1700000005.25");
    ASSERT_NE(end, std::string::npos);
    text.replace(end, 13, "1700000006.25");
    EXPECT_NEAR(parse_gssr_json(text, "f")->spacing_seconds(), 0.6, 1e-9);
    // The first samples were cut off: the length says nothing of the spacing.
    text.replace(end, 13, "1700000099.25");
    auto read = parse_gssr_json(text, "f");
    EXPECT_EQ(read->spacing_seconds(), 0.5);
    EXPECT_EQ(core::format_time(read->time_of(9)), "2023-11-14T22:14:58.750000Z");
}

TEST(record_import, what_python_writes_for_no_number_is_missing) {
    auto read = parse_gssr_json(
        R"({"metadata": {"hostname": "NaN \" Infinity"}, "data": {"0": {"sm_active": [NaN, 0.5, Infinity, -Infinity,
            null, "N/A", 140737488355328.0]}}})",
        "f");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->host, "NaN \" Infinity");
    const std::vector<GssrRow>& rows = read->gpus.at(0);
    ASSERT_EQ(rows.size(), 7U);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(std::isnan(rows[i][kSmActive].average), i != 1) << i;
}

// json.dump writes bytes of an argument that are not UTF-8 as lone surrogates, and reads a number beyond the
// largest.
TEST(record_import, all_that_python_reads_back_is_read) {
    auto read = parse_gssr_json(
        R"({"metadata": {"cmd": "train \udcff.py", "hostname": "n1"}, "data": {"0": {"sm_active": [1e999, 0.5]}}})",
        "f");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->command, "train \uFFFD.py");
    EXPECT_TRUE(std::isnan(read->gpus.at(0).at(0)[kSmActive].average));
    EXPECT_EQ(read->gpus.at(0).at(1)[kSmActive].average, 0.5);
}

TEST(record_import, names_in_json_have_an_end) {
    std::string longest;
    for (int i = 0; i < 1000; ++i) longest += "ü";
    auto read = parse_gssr_json(
        fmt::format(R"({{"metadata": {{"label": "{0}", "hostname": "{0}"}}, "data": {{}}}})", longest), "f");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->label, longest.substr(0, 254)) << "whole characters";
    EXPECT_EQ(read->host, read->label);
}

TEST(record_import, json_that_is_cut_off_or_foreign_is_refused) {
    for (const char* text : {"", "{", "[]", "{}", R"({"data": []})", R"({"metadata": {}})"})
        EXPECT_FALSE(parse_gssr_json(text, "f")) << text;
    EXPECT_TRUE(
        parse_gssr_json(R"({"metadata": 3, "data": {"x": 1, "-1": {}, "9999": {}}})", "f")->gpus.empty());
}

TEST(record_import, json_has_an_end) {
    std::string zeros = "0";
    while (zeros.size() < kMostGssrSamples) zeros += ",0";
    auto refused = parse_gssr_json(
        fmt::format(R"({{"data": {{"0": {{"sm_active": [{0}]}}, "1": {{"fb_used": [{0}]}}}}}})", zeros),
        "step/f.json");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("step/f.json holds 1048578 samples of GPUs, and at most "
                                                     "1048576 are read"));

    Recording recording;
    recording.write(name_of(0), recording_of(0, 0, 0, kBegin, 10));
    recording.write(name_of(1), "{}");
    std::filesystem::resize_file(recording.source() / name_of(1), kLargestGssrJson + 1);
    auto done = import_gssr(recording.options());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->rows, 10);
    EXPECT_THAT(told(*done), HasSubstr("proc_1.json is larger than 134217728 bytes: left out"));
    Recording only;
    only.write(name_of(1), "{}");
    std::filesystem::resize_file(only.source() / name_of(1), kLargestGssrJson + 1);
    EXPECT_THAT(import_gssr(only.options()).error().message(), HasSubstr("is larger than 134217728 bytes"));
}

TEST(record_import, steps_of_other_spacings_miss_nothing) {
    Recording recording;
    recording.write(name_of(0), recording_of(0, 0, 0, kBegin, 120));
    std::string slow = recording_of(2, 0, 1, kBegin + 60, 60);  // of the same node, with other names of files
    slow.replace(slow.find("\"sampling_time\": 500"), 20, "\"sampling_time\": 1000");
    const std::string end = fmt::format("\"end_time\": {}", kBegin + 90);
    ASSERT_NE(slow.find(end), std::string::npos);
    slow.replace(slow.find(end), end.size(), fmt::format("\"end_time\": {}", kBegin + 120));
    slow.replace(slow.find("nid1"), 4, "nid0");
    recording.write("run_job_4711_step_1/run_job_4711_step_1_proc_2.json", slow);
    auto done = import_gssr(recording.options());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->rows, 180);
    EXPECT_THAT(told(*done), HasSubstr("samples are 0.5 s apart in some files and 1 s in others"));
    EXPECT_EQ(recording.info().coverage, 1.0);
    EXPECT_EQ(recording.info().manifest.interval, std::chrono::seconds(1));
}

TEST(record_import, the_python_generation_becomes_a_record) {
    Recording recording;
    for (int rank = 0; rank < 4; ++rank)
        recording.write(name_of(rank), recording_of(rank, rank % 2, 0, kBegin, 120));
    auto done = import_gssr(recording.options());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->rows, 480);
    EXPECT_EQ(done->nodes, 2U);
    EXPECT_EQ(done->devices, 4U);
    EXPECT_EQ(told(*done), "");
    EXPECT_THAT(
        recording.query("SELECT node, device, count(*), avg(utilization_ratio), avg(sm_active_ratio), "
                        "avg(memory_used_bytes) / 1048576, count(energy_joules_total) FROM gpu "
                        "GROUP BY ALL ORDER BY 1, 2 LIMIT 2"),
        ElementsAre("nid0 nid0:gpu0 120 0.8 0.5 80 0", "nid0 nid0:gpu1 120 0.8 0.5 80 0"));
    RecordInfo info = recording.info();
    EXPECT_EQ(info.coverage, 1.0);
    EXPECT_EQ(info.manifest.job.id, 4711);
    EXPECT_EQ(info.manifest.interval, std::chrono::milliseconds(500));
    EXPECT_THAT(info.manifest.command, ElementsAre("python train.py"));
    EXPECT_THAT(recording.query("SELECT count(*), count(device), min(t0) FROM allocation"),
                ElementsAre("6 4 2023-11-14T22:13:20.250000Z"));
}

TEST(record_import, a_gpu_that_two_ranks_recorded_counts_once) {
    Recording recording;
    recording.write(name_of(0), recording_of(0, 0, 0, kBegin, 100));
    recording.write(name_of(1), recording_of(1, 0, 0, kBegin + 0.1, 100));
    recording.write(name_of(2), "{\"data\": ");
    auto done = import_gssr(recording.options());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->devices, 1U);
    EXPECT_THAT(told(*done), HasSubstr("99 samples of GPU 0 are of a time that another rank"));
    EXPECT_THAT(told(*done), HasSubstr("proc_2.json is not JSON: byte "));
    EXPECT_EQ(recording.info().coverage, 1.0);
}

TEST(record_import, json_that_cannot_be_read_is_an_error_and_not_missing) {
    Recording recording;
    recording.write(name_of(0), recording_of(0, 0, 0, kBegin, 100));
    recording.write_unreadable(name_of(1));
    expect_not_read(import_gssr(recording.options()), recording, name_of(1));
}

TEST(record_import, an_sqlite_export_is_refused_with_what_to_take_instead) {
    Recording recording;
    recording.write("export.sql", std::string("SQLite format 3\0", 16) + "rest");
    ImportOptions options = recording.options();
    options.source = recording.source() / "export.sql";
    auto refused = import_gssr(options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("all GPUs of each rank but the last"));
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("_proc_N.json"));
}

}  // namespace
}  // namespace belay::record
