#include "record/import/gssr_meta.h"
#include "record/import/import.h"
#include "record/import/import_testing.h"

#include <cmath>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using namespace import_testing;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

Imported imported(const ImportOptions& options) {
    auto done = import_gssr(options);
    EXPECT_TRUE(done) << done.error().message();
    return done.value_or(Imported{});
}
Imported imported(const Recording& recording) {
    return imported(recording.options());
}

// Two nodes of four GPUs for a minute, as an undisturbed recorder leaves it.
void write_healthy(const Recording& recording) {
    recording.write("alps_4711/step_0/proc_0.meta.txt", kMeta);
    recording.write("alps_4711/step_0/proc_0.csv", header() + rows(1, 60, 4));
    recording.write("alps_4711/step_0/proc_4.csv", header() + rows(1, 60, 4));
}

TEST(record_import, a_healthy_recording_becomes_a_sealed_record) {
    Recording recording;
    write_healthy(recording);
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 480);
    EXPECT_EQ(done.nodes, 2U);
    EXPECT_EQ(done.devices, 8U);
    EXPECT_EQ(told(done), "");
    RecordInfo info = recording.info();
    EXPECT_TRUE(info.sealed);
    EXPECT_EQ(info.coverage, 1.0);
    EXPECT_EQ(info.manifest.job.id, 4711);
    EXPECT_EQ(info.manifest.job.cluster, "alps");
    EXPECT_EQ(info.manifest.job.name, "train");
    EXPECT_THAT(info.manifest.job.nodes, ElementsAre("proc_0", "proc_4"));
    EXPECT_THAT(info.manifest.command, ElementsAre("python", "train.py", "--lr", "3"));
    EXPECT_EQ(core::format_time(info.manifest.job.start.value()), "2026-03-01T12:00:00.000000Z");
    EXPECT_EQ(core::format_time(info.manifest.job.end.value()), "2026-03-01T12:01:00.000000Z");
    EXPECT_FALSE(fs::exists(segments_path(recording.record())));
}

TEST(record_import, the_record_may_have_any_name) {
    Recording recording;
    write_healthy(recording);
    ImportOptions options = recording.options();
    options.record = recording.record().parent_path() / "r[1]*";
    EXPECT_EQ(imported(options).rows, 480);
    EXPECT_EQ(Archive::open(options.record)->info()->tables["gpu"].rows, 480);
}

TEST(record_import, values_are_in_the_units_of_the_record) {
    Recording recording;
    write_healthy(recording);
    imported(recording);
    EXPECT_THAT(
        recording.query(
            "SELECT min(time), max(time), avg(utilization_ratio), avg(sm_active_ratio), "
            "avg(sm_occupancy_ratio), avg(tensor_active_ratio), avg(fp64_active_ratio), "
            "avg(dram_active_ratio), count(engine_active_ratio) FROM gpu WHERE device = 'proc_4:gpu3'"),
        ElementsAre("2026-03-01T12:00:01.000000Z 2026-03-01T12:01:00.000000Z 0.95 0.8 0.4 0.6 0 0.25 0"));
    EXPECT_THAT(
        recording.query("SELECT avg(pcie_sent_bytes_per_second), avg(pcie_received_bytes_per_second), "
                        "avg(nvlink_sent_bytes_per_second), avg(nvlink_received_bytes_per_second), "
                        "avg(c2c_sent_bytes_per_second), avg(c2c_received_bytes_per_second), "
                        "avg(power_watts) FROM gpu"),
        ElementsAre("2000 5000 11000 8000 200 500 400"));
    EXPECT_THAT(recording.query("SELECT max(memory_used_bytes)::BIGINT = 20480::BIGINT << 20, "
                                "max(memory_total_bytes)::BIGINT = 81480::BIGINT << 20 FROM gpu"),
                ElementsAre("true true"));
}

TEST(record_import, energy_of_windows_becomes_a_running_total) {
    Recording recording;
    write_healthy(recording);
    imported(recording);
    EXPECT_THAT(recording.query("SELECT min(energy_joules_total), max(energy_joules_total) FROM gpu "
                                "GROUP BY node, device ORDER BY node, device LIMIT 1"),
                ElementsAre("400 24000"));
}

TEST(record_import, devices_and_allocations_are_told_for_each_node_and_gpu) {
    Recording recording;
    write_healthy(recording);
    imported(recording);
    EXPECT_THAT(recording.query("SELECT node, device, \"index\", name, weight, source FROM gpu_device "
                                "WHERE node = 'proc_0' ORDER BY 3 LIMIT 2"),
                ElementsAre("proc_0 proc_0:gpu0 0 null 1 gssr 2.0", "proc_0 proc_0:gpu1 1 null 1 gssr 2.0"));
    EXPECT_THAT(recording.query("SELECT count(*), count(device), min(t0), max(t1), min(job_id), min(step_id) "
                                "FROM allocation"),
                ElementsAre("10 8 2026-03-01T12:00:00.000000Z 2026-03-01T12:01:00.000000Z 4711 0"));
    EXPECT_THAT(recording.query("SELECT sum(expected), sum(received), min(interval_seconds) FROM coverage"),
                ElementsAre("480 480 1"));
}

TEST(record_import, the_old_layout_the_job_and_the_step_are_found_too) {
    for (const char* part : {"", "alps_4711", "alps_4711/step_0"}) {
        Recording recording;
        write_healthy(recording);
        ImportOptions options = recording.options();
        options.source = recording.source() / part;
        EXPECT_EQ(imported(options).rows, 480) << part;
    }
}

TEST(record_import, an_old_header_is_read_as_what_it_is) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header("min,max,avg") + rows(1, 10, 1));
    Imported done = imported(recording);
    EXPECT_THAT(told(done), HasSubstr("step_0/proc_0.csv:1: the header has max before avg"));
    EXPECT_THAT(recording.query("SELECT avg(tensor_active_ratio) FROM gpu"), ElementsAre("0.6"));
    EXPECT_THAT(recording.query("SELECT severity, count(*) FROM event WHERE kind = 'import' AND message LIKE "
                                "'%max before avg%' GROUP BY 1"),
                ElementsAre("warning 1"));
}

TEST(record_import, rows_of_two_seconds_are_two_seconds) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    std::string text = header();
    for (int second = 2; second <= 60; second += 2) text += row(second, 0);
    recording.write("step_0/proc_0.csv", text);
    EXPECT_THAT(told(imported(recording)), HasSubstr("rows are 2 s apart"));
    EXPECT_EQ(recording.info().manifest.interval, std::chrono::seconds(2));
    EXPECT_EQ(recording.info().coverage, 1.0);
}

TEST(record_import, a_rate_above_2_gigabytes_per_second_is_missing_and_not_0) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + row(1, 0) + row(2, 0, {{"PROF_NVLINK_TX_BYTES", {}}}) +
                                             row(3, 0, {{"PROF_NVLINK_TX_BYTES", {}}}) + row(4, 0, kIdle));
    EXPECT_THAT(told(imported(recording)),
                HasSubstr("step_0/proc_0.csv:3: DCGM_FI_PROF_NVLINK_TX_BYTES is 0 while "
                          "the GPU works, in 2 rows"));
    EXPECT_THAT(recording.query("SELECT nvlink_sent_bytes_per_second FROM gpu ORDER BY time"),
                ElementsAre("11000", "null", "null", "0"));
}

TEST(record_import, what_cannot_be_is_missing_and_told) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv",
                    header() + row(1, 0) + row(2, 0, {{"PROF_SM_ACTIVE", {1.3, 1.3, 1.3}}}) +
                        row(3, 0, {{"PROF_SM_ACTIVE", {0, INFINITY, INFINITY}}}) + row(4, 0));
    EXPECT_THAT(
        told(imported(recording)),
        HasSubstr(
            "step_0/proc_0.csv:3: DCGM_FI_PROF_SM_ACTIVE is impossible (negative, not a number, or above its "
            "highest value) in 2 rows from this one on"));
    EXPECT_THAT(recording.query("SELECT sm_active_ratio FROM gpu ORDER BY time"),
                ElementsAre("0.8", "null", "null", "0.8"));
}

TEST(record_import, a_torn_last_line_is_left_out) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    std::string last = row(11, 0);
    last.pop_back();  // even if only the line feed is missing, since a digit may be too
    recording.write("step_0/proc_0.csv", header() + rows(1, 10, 1) + last);
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 10);
    EXPECT_THAT(told(done), HasSubstr("step_0/proc_0.csv:12: the last line has no end"));
}

TEST(record_import, a_line_that_is_no_row_hides_no_other) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 5, 1) + "rubbish\n" + std::string(200'000, 'x') +
                                             "\n" + rows(6, 10, 1));
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 10);
    EXPECT_THAT(told(done), HasSubstr("step_0/proc_0.csv:7: 2 of the lines"));
}

TEST(record_import, times_from_1970_are_taken_as_they_are) {
    Recording recording;
    recording.write("step_0/proc_0.csv", header() + rows(1'700'000'001, 1'700'000'060, 2));
    Imported done = imported(recording);
    EXPECT_THAT(told(done), Not(HasSubstr("count from")));
    EXPECT_THAT(recording.query("SELECT min(time), max(time) FROM gpu"),
                ElementsAre("2023-11-14T22:13:21.000000Z 2023-11-14T22:14:20.000000Z"));
    EXPECT_EQ(recording.info().coverage, 1.0);
}

TEST(record_import, a_file_from_1970_dates_the_others_of_its_step) {
    Recording recording;
    recording.write("step_0/proc_0.csv", header() + rows(1'700'000'001, 1'700'000'060, 2));
    recording.write("step_0/proc_4.csv", header() + rows(1, 60, 2));
    imported(recording);
    EXPECT_THAT(recording.query("SELECT min(time), max(time) FROM gpu"),
                ElementsAre("2023-11-14T22:13:21.000000Z 2023-11-14T22:14:20.000000Z"));
}

TEST(record_import, a_clock_that_was_never_set_gives_no_date) {
    EXPECT_FALSE(parse_gssr_meta("{\n\"date\": \"1970-01-01T00:00:00Z\"\n}").date);
}

TEST(record_import, times_of_both_kinds_in_one_file_are_not_mixed) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 10, 1) + row(1'700'000'000, 0) + rows(11, 20, 1) +
                                             row(1'700'000'001, 0));
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 20);
    EXPECT_THAT(told(done), HasSubstr("step_0/proc_0.csv:12: 2 of the lines"));
    EXPECT_EQ(recording.info().coverage, 1.0);
}

TEST(record_import, nodes_are_moved_so_that_activity_begins_together) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 60, 1, 20));
    recording.write("step_0/proc_4.csv", header() + rows(1, 57, 1, 17));  // its recorder began 3 s later
    Imported done = imported(recording);
    EXPECT_THAT(told(done),
                HasSubstr("step_0: recorders count from their own start: 1 of 2 nodes were moved by up to "
                          "3s"));
    EXPECT_THAT(
        recording.query("SELECT min(time) FROM gpu WHERE utilization_ratio > 0 GROUP BY node ORDER BY node"),
        ElementsAre("2026-03-01T12:00:20.000000Z", "2026-03-01T12:00:20.000000Z"));
}

TEST(record_import, a_late_start_of_work_is_no_difference_of_clocks) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 120, 1, 5));
    recording.write("step_0/proc_4.csv", header() + rows(1, 120, 1, 90));
    EXPECT_THAT(told(imported(recording)), HasSubstr("begins 1m25s after that of proc_0: too far apart"));
    EXPECT_THAT(recording.query("SELECT DISTINCT max(time) FROM gpu GROUP BY node"),
                ElementsAre("2026-03-01T12:02:00.000000Z"));
}

TEST(record_import, a_pause_between_steps_is_in_no_allocation) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 60, 1));
    std::string later = kMeta;
    later.replace(later.find("13:00:00"), 8, "14:00:00");
    recording.write("step_2/proc_0.meta.txt", later);
    recording.write("step_2/proc_0.csv", header() + rows(1, 60, 1));
    EXPECT_THAT(told(imported(recording)),
                HasSubstr("step_2: the step before it that was recorded is step_0"));
    EXPECT_EQ(recording.info().coverage, 1.0);
    EXPECT_THAT(
        recording.query("SELECT step_id, t1 - t0 = INTERVAL 60 SECONDS FROM allocation WHERE device IS NOT "
                        "NULL ORDER BY t0"),
        ElementsAre("0 true", "2 true"));
}

TEST(record_import, without_metadata_it_is_read_with_a_warning) {
    Recording recording;
    recording.write("step_0/proc_0.csv", header() + rows(1, 10, 1));
    recording.write("step_1/proc_0.csv", header() + rows(1, 10, 1));
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 20);  // the second step is placed behind the first
    EXPECT_THAT(told(done), HasSubstr("step_0: there is no metadata"));
    EXPECT_THAT(told(done), HasSubstr("step_1: no date says when it began: its times count from "
                                      "1970-01-01T00:00:10.000000Z"));
    EXPECT_FALSE(recording.info().manifest.job.id);
}

TEST(record_import, of_several_metadata_the_first_rank_counts) {
    Recording recording;
    write_healthy(recording);
    recording.write("alps_4711/step_0/proc_4.meta.txt", "{\n\"jobid\": \"1\"\n}");
    EXPECT_THAT(told(imported(recording)), HasSubstr("2 files of metadata"));
    EXPECT_EQ(recording.info().manifest.job.id, 4711);
}

TEST(record_import, a_node_with_an_empty_file_is_missing_and_not_absent) {
    for (const std::string& content : {std::string(), header()}) {
        Recording recording;
        write_healthy(recording);
        recording.write("alps_4711/step_0/proc_4.csv", content);
        Imported done = imported(recording);
        EXPECT_EQ(done.rows, 240);
        EXPECT_EQ(done.devices, 8U);
        EXPECT_THAT(told(done), HasSubstr("proc_4 left no samples: its time counts as missing, for 4 GPUs"));
        EXPECT_EQ(recording.info().coverage, 0.5);
    }
}

TEST(record_import, a_step_without_files_is_told) {
    Recording recording;
    write_healthy(recording);
    fs::create_directories(recording.source() / "alps_4711/step_1");
    EXPECT_THAT(told(imported(recording)), HasSubstr("step_1: there is no recording"));
    Recording fewer;
    fewer.write("step_0/proc_0.meta.txt", kMeta);
    fewer.write("step_0/proc_0.csv", header() + rows(1, 10, 4));
    EXPECT_THAT(told(imported(fewer)), HasSubstr("step_0: the step ran on 2 nodes and 1 left a file"));
}

TEST(record_import, a_killed_recorder_lowers_the_coverage) {
    Recording recording;
    write_healthy(recording);
    recording.write("alps_4711/step_0/proc_4.csv", header() + rows(1, 45, 4));
    EXPECT_THAT(told(imported(recording)), HasSubstr("step_0/proc_4.csv: the rows end 15.0 s before"));
    EXPECT_EQ(recording.info().coverage, 420.0 / 480);
}

TEST(record_import, gpus_that_the_job_did_not_hold_are_left_out_when_named) {
    Recording recording;
    std::string part = kMeta;
    part.replace(part.find("\"ngpus\": \"4\""), 12, "\"ngpus\": \"2\"");
    write_healthy(recording);
    recording.write("alps_4711/step_0/proc_0.meta.txt", part);
    EXPECT_THAT(told(imported(recording)), HasSubstr("4 GPUs of a node were recorded and the job held 2"));
    Recording chosen;
    write_healthy(chosen);
    chosen.write("alps_4711/step_0/proc_0.meta.txt", part);
    ImportOptions options = chosen.options();
    options.gpus = {1, 2};
    Imported done = imported(options);
    EXPECT_EQ(done.rows, 240);
    EXPECT_EQ(told(done), "");
    EXPECT_THAT(chosen.query("SELECT DISTINCT device FROM gpu WHERE node = 'proc_0' ORDER BY 1"),
                ElementsAre("proc_0:gpu1", "proc_0:gpu2"));
    fs::remove_all(chosen.record());
    options.gpus = {9};
    EXPECT_FALSE(import_gssr(options));
    EXPECT_FALSE(fs::exists(chosen.record()));
}

TEST(record_import, energy_that_disagrees_with_power_is_told) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    std::string text = header();
    for (int second = 1; second <= 30; ++second)
        text += row(second, 0, {{"DEV_TOTAL_ENERGY_CONSUMPTION", {0, 320000, 0}}});
    recording.write("step_0/proc_0.csv", text);
    EXPECT_THAT(told(imported(recording)), HasSubstr("adds up to 80 % of mean power × time"));
}

TEST(record_import, what_is_no_recording_is_refused_and_nothing_is_left) {
    Recording recording;
    recording.write("notes.txt", "x");
    auto refused = import_gssr(recording.options());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("step_N/proc_N.csv"));
    recording.write("step_0/proc_0.csv", header());
    EXPECT_THAT(import_gssr(recording.options()).error().message(), HasSubstr("holds no samples"));
    EXPECT_EQ(
        std::distance(fs::directory_iterator(recording.record().parent_path()), fs::directory_iterator()), 1);
}

TEST(record_import, a_pipe_is_no_recording_and_not_waited_for) {
    Recording recording;
    recording.write("x", "");
    ImportOptions options = recording.options();
    options.source = recording.source() / "pipe";
    ASSERT_EQ(mkfifo(options.source.c_str(), 0600), 0);
    EXPECT_THAT(import_gssr(options).error().message(), HasSubstr("is not a recording of gssr"));
}

TEST(record_import, several_jobs_are_refused_by_name) {
    Recording recording;
    write_healthy(recording);
    recording.write("alps_4712/step_0/proc_0.csv", header() + rows(1, 3, 1));
    EXPECT_THAT(import_gssr(recording.options()).error().message(),
                HasSubstr("the recordings of several jobs"));
}

TEST(record_import, the_place_of_the_record_must_be_free) {
    Recording recording;
    write_healthy(recording);
    imported(recording);
    EXPECT_THAT(import_gssr(recording.options()).error().message(), HasSubstr("is not empty"));
    Recording empty;
    write_healthy(empty);
    fs::create_directories(empty.record());
    EXPECT_EQ(imported(empty).rows, 480);
}

}  // namespace
}  // namespace belay::record
