#include "record/import/import_testing.h"
#include "record/import/jobreport_csv.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using namespace import_testing;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader =
    "jobId,stepId,username,slurm_account,n_nodes,host,gpuId,powerUsageMin,powerUsageMax,powerUsageAvg,"
    "startTime,"
    "endTime,smUtilizationMin,smUtilizationMax,smUtilizationAvg,memoryUtilizationMin,memoryUtilizationMax,"
    "memoryUtilizationAvg,maxAllocatedMemory\n";

std::string line(const std::string& host, int gpu, const std::string& power = "90.5,410.0,300.0",
                 int job = 4711) {
    return fmt::format(
        "{},0,ada,proj,2,{},{},{},1700000000000000,1700003600000000,0,100,73,0,60,21,42949672960\n", job,
        host, gpu, power);
}

void write_healthy(const Recording& recording) {
    recording.write(".cscs_jobreport_root", "");
    recording.write("step_0/proc_0.csv", kHeader + line("nid1", 0) + line("nid1", 1));
    recording.write("step_0/proc_4.csv", kHeader + line("nid2", 0) + line("nid2", 1));
}

TEST(record_import, a_report_is_read_by_the_names_of_its_columns) {
    auto file = parse_jobreport("endTime,gpuId,host,new,jobId,startTime\n7000000,3,n1,x,9,1000000\n");
    ASSERT_TRUE(file);
    ASSERT_EQ(file->rows.size(), 1U);
    const JobreportRow& row = file->rows[0];
    EXPECT_EQ(row.job_id, 9);
    EXPECT_EQ(row.host, "n1");
    EXPECT_EQ(row.gpu, 3);
    EXPECT_EQ(row.end - row.start, std::chrono::seconds(6));
    EXPECT_TRUE(std::isnan(row.power_average) && std::isnan(row.sm_average));
}

TEST(record_import, rows_of_a_report_that_cannot_be_used_are_counted) {
    std::string torn = line("n1", 2);
    torn.pop_back();
    auto file = parse_jobreport(kHeader + line("n1", 0) + "x\n" + line("", 1) + torn);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->rows.size(), 1U);
    EXPECT_THAT(file->unreadable_lines, ElementsAre(3, 4, 5));
    EXPECT_FALSE(parse_jobreport(""));
    EXPECT_FALSE(parse_jobreport("timestamp,gpuId\n1,2\n"));
}

TEST(record_import, what_dcgm_could_not_measure_is_unknown_in_a_report) {
    auto file = parse_jobreport(kHeader + line("n1", 0, "nan,nan,nan"));
    ASSERT_EQ(file->rows.size(), 1U);
    EXPECT_THAT(summary_of(file->rows[0]), HasSubstr("power unknown (unknown to unknown), energy unknown"));
    EXPECT_THAT(summary_of(file->rows[0]), HasSubstr("at most 40.0 GiB allocated"));
}

TEST(record_import, a_report_becomes_a_record_without_samples) {
    Recording recording;
    write_healthy(recording);
    auto done = import_jobreport(recording.options());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_TRUE(done->aggregates_only);
    EXPECT_EQ(done->rows, 0);
    EXPECT_EQ(done->devices, 4U);
    EXPECT_THAT(told(*done), HasSubstr("no score can be computed from them"));
    EXPECT_THAT(
        recording.query("SELECT (SELECT count(*) FROM gpu), (SELECT count(*) FROM coverage), count(*) FROM "
                        "gpu_device WHERE source = 'jobreport'"),
        ElementsAre("0 0 4"));
    EXPECT_THAT(recording.query("SELECT node, device, job_id, step_id, t0, t1 FROM allocation WHERE device = "
                                "'nid2:gpu1'"),
                ElementsAre("nid2 nid2:gpu1 4711 0 2023-11-14T22:13:20.000000Z 2023-11-14T23:13:20.000000Z"));
    EXPECT_THAT(
        recording.query("SELECT message FROM event WHERE kind = 'jobreport' AND node = 'nid1' LIMIT 1"),
        ElementsAre(
            HasSubstr("utilization 73 % (0 % to 100 %), memory bandwidth 21 % (0 % to 60 %), power 300 "
                      "W (90 W to 410 W), energy 300 Wh as mean power × time")));
    RecordInfo info = recording.info();
    EXPECT_EQ(info.manifest.job.account, "proj");
    EXPECT_EQ(info.manifest.job.user, "ada");
    EXPECT_THAT(info.manifest.job.nodes, ElementsAre("nid1", "nid2"));
    EXPECT_FALSE(info.coverage);
}

TEST(record_import, gpus_that_two_ranks_report_count_once_and_foreign_ones_can_be_left_out) {
    Recording recording;
    write_healthy(recording);
    recording.write("step_0/proc_1.csv", kHeader + line("nid1", 0) + line("nid1", 3));
    recording.write("step_0/proc_2.csv", "");
    ImportOptions options = recording.options();
    options.gpus = {0, 1};
    auto done = import_jobreport(options);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->devices, 4U);
    EXPECT_THAT(told(*done), HasSubstr("step_0/proc_1.csv: 1 rows are of GPUs that another rank"));
    EXPECT_THAT(told(*done), HasSubstr("step_0/proc_2.csv: the file is empty"));
}

TEST(record_import, a_report_that_cannot_be_read_is_an_error_and_not_missing) {
    Recording recording;
    write_healthy(recording);
    recording.write_unreadable("step_0/proc_1.csv");
    expect_not_read(import_jobreport(recording.options()), recording, "step_0/proc_1.csv");
}

TEST(record_import, what_is_no_report_is_refused) {
    Recording recording;
    recording.write("step_0/proc_0.csv", header() + rows(1, 3, 1));
    auto refused = import_jobreport(recording.options());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("is not a recording of jobreport"));
    recording.write("step_0/proc_0.csv", kHeader);
    EXPECT_THAT(import_jobreport(recording.options()).error().hint_text(),
                HasSubstr("killed leaves nothing"));
    recording.write("step_0/proc_0.csv", kHeader + "x\n");
    EXPECT_THAT(import_jobreport(recording.options()).error().hint_text(),
                HasSubstr("step_0/proc_0.csv:2: 1 of the lines"));
    recording.write("step_0/proc_0.csv", kHeader + line("n", 0) + line("n", 1, "1,1,1", 4712));
    EXPECT_THAT(import_jobreport(recording.options()).error().message(),
                HasSubstr("several jobs: 4711 and 4712"));
    // A recording of the other tool is named as what it is not.
    EXPECT_FALSE(import_gssr(recording.options()));
}

}  // namespace
}  // namespace belay::record
