#include "cli/testing.h"
#include "core/json.h"
#include "record/import/import_testing.h"
#include "score/digest_store.h"
#include "score/job_score.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;
using cli::testing::Outcome;
using nlohmann::json;
using record::import_testing::header;
using record::import_testing::kMeta;
using record::import_testing::Recording;
using record::import_testing::rows;
using ::testing::HasSubstr;

// belay record import TOOL SRC -o DIR MORE...
Outcome import(const std::string& tool, const Recording& recording, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"record", "import", tool, recording.source().string(), "-o", recording.record().string()});
    return belay(std::move(more));
}

TEST(cli, record_import_of_gssr_in_both_forms) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 10, 4) + "torn");
    Outcome text = import("gssr", recording);
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_EQ(text.err, "");
    EXPECT_THAT(text.out, HasSubstr("/record: 40 samples of 4 GPUs on 1 nodes\n"));
    EXPECT_THAT(text.out, HasSubstr("\nwarning: step_0/proc_0.csv:42: the last line has no end: left out\n"));

    Outcome again = import("gssr", recording, {"--json"});
    EXPECT_EQ(again.status, 2);
    EXPECT_EQ(again.out, "");
    EXPECT_THAT(again.err, HasSubstr("is not empty\nhint: name a directory that does not exist yet"));

    std::filesystem::remove_all(recording.record());
    Outcome as_json = import("gssr", recording, {"--json", "--gpu", "1", "--model", "NVIDIA H100"});
    ASSERT_EQ(as_json.status, 0) << as_json.err;
    json value = core::parse_json(as_json.out);
    EXPECT_EQ(value["record"], recording.record().string());
    EXPECT_EQ(value["rows"], 10);
    EXPECT_EQ(value["devices"], 1);
    EXPECT_EQ(value["aggregates_only"], false);
    EXPECT_EQ(value["warnings"].size(), 2U);  // the torn line, and that another node left no file
    EXPECT_THAT(recording.query("SELECT DISTINCT name FROM gpu_device"),
                ::testing::ElementsAre("NVIDIA H100"));
}

// A minute of a GPU in use, as gssr 0.3 records it in JSON.
std::string python_recording(int step, double start, double spacing) {
    std::string values;
    const int samples = static_cast<int>(60 / spacing);
    for (int i = 0; i < samples; ++i) values += i == 0 ? "0.5" : ", 0.5";
    return fmt::format(
        R"({{"metadata": {{"job_id": 1, "step_id": {}, "hostname": "n1", "proc_id": 0, "start_time": {}, "end_time": {},
            "sampling_time": {}}}, "data": {{"0": {{"sm_active": [{}], "dram_active": [{}]}}}}}})",
        step, start, start + 60, 1000 * spacing, values, values);
}

TEST(cli, defects_of_one_kind_are_told_once_wherever_they_are) {
    Recording recording;
    for (const char* file : {"a/a_proc_0.json", "b/b_proc_0.json", "c/c_proc_0.json"})
        recording.write(file, "{");
    recording.write("d/d_proc_0.json", python_recording(0, 1'700'000'000, 0.5));
    Outcome outcome = import("gssr", recording);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("left out (2 more like this)\n")) << outcome.out;
}

TEST(cli, steps_that_were_sampled_differently_are_scored_as_a_whole) {
    Recording recording;
    recording.write("a/a_proc_0.json", python_recording(0, 1'700'000'000, 0.5));
    recording.write("b/b_proc_0.json", python_recording(1, 1'700'000'060, 0.5));
    recording.write("c/c_proc_0.json", python_recording(2, 1'700'000'120, 1));
    Outcome outcome = import("gssr", recording, {"--model", "NVIDIA H100 80GB HBM3"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    auto archive = score::open_record(recording.record());
    ASSERT_TRUE(archive) << archive.error().message();
    auto digest = score::digest_of(*archive);
    ASSERT_TRUE(digest);
    EXPECT_NEAR(score::score_job(*digest).score.coverage, 1, 1e-9);
}

TEST(cli, record_import_of_a_report_says_that_there_is_no_score) {
    Recording recording;
    recording.write("step_0/proc_0.csv", "jobId,host,gpuId,startTime,endTime\n7,n1,0,1000000,9000000\n");
    Outcome outcome = import("jobreport", recording);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("aggregates only: no score can be computed from them\n"));
}

TEST(cli, record_import_of_what_is_no_recording_says_what_was_looked_for) {
    Recording recording;
    recording.write("notes", "x");
    for (const char* tool : {"gssr", "jobreport"}) {
        Outcome outcome = import(tool, recording, {"--json"});
        EXPECT_EQ(outcome.status, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err,
                    HasSubstr(std::string("is not a recording of ") + tool + "\nhint: looked for step_N"));
    }
}

}  // namespace
}  // namespace belay::cli
