#include "record/import/import.h"
#include "record/import/import_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using namespace import_testing;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Imported imported(const Recording& recording) {
    auto done = import_gssr(recording.options());
    EXPECT_TRUE(done) << done.error().message();
    return done.value_or(Imported{});
}

TEST(record_import, a_second_that_no_gpu_has_belongs_to_the_row_after_it) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write(
        "step_0/proc_0.csv",
        header() + rows(1, 10, 2) +
            row(12, 0, {{"DEV_TOTAL_ENERGY_CONSUMPTION", {0, 900000, 0}}, {"PROF_SM_ACTIVE", {0, 0.5, 1}}}) +
            row(12, 1) + rows(13, 20, 2) + rows(23, 60, 2));
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 120);
    EXPECT_THAT(told(done), HasSubstr("2 places in which a second or two has no row of any GPU"));
    EXPECT_THAT(told(done), Not(HasSubstr("samples are missing")));
    EXPECT_EQ(recording.info().coverage, 1.0);
    EXPECT_THAT(recording.query(
                    "SELECT epoch(time) % 60, sm_active_ratio, energy_joules_total FROM gpu WHERE device = "
                    "'proc_0:gpu0' AND epoch(time) % 60 BETWEEN 10 AND 13 ORDER BY time"),
                ElementsAre("10 0.8 4000", "11 0.5 4450", "12 0.5 4900", "13 0.8 5300"));
    EXPECT_THAT(
        recording.query("SELECT count(DISTINCT time), max(energy_joules_total) FROM gpu WHERE device = "
                        "'proc_0:gpu1'"),
        ElementsAre("60 22800"));
}

TEST(record_import, a_second_that_other_gpus_have_is_missing) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 10, 2) + row(11, 0) + rows(12, 20, 2));
    EXPECT_THAT(told(imported(recording)), HasSubstr("proc_0: 1 of 40 samples are missing"));
    EXPECT_EQ(recording.info().coverage, 39 / 40.0);
}

TEST(record_import, a_recorder_that_starts_late_in_a_second_misses_none) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(2, 20, 1));
    EXPECT_EQ(imported(recording).rows, 20);
    EXPECT_EQ(recording.info().coverage, 1.0);
}

TEST(record_import, a_second_that_another_step_recorded_is_no_skip_of_it) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 60, 1));
    recording.write("step_1/proc_0.meta.txt", kMeta);
    recording.write("step_1/proc_0.csv", header() + rows(1, 30, 1) + rows(32, 90, 1));
    EXPECT_EQ(imported(recording).rows, 90);
    EXPECT_THAT(recording.query("SELECT count(DISTINCT time), max(energy_joules_total) FROM gpu"),
                ElementsAre("90 36000"));
}

TEST(record_import, a_row_that_was_dropped_is_missing) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 40, 1) + rows(51, 100, 1));
    EXPECT_THAT(told(imported(recording)), HasSubstr("10 of 100 samples are missing"));
    EXPECT_EQ(recording.info().coverage, 0.9);
}

TEST(record_import, rows_out_of_order_and_repeated_rows_are_told_as_such) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv",
                    header() + rows(1, 20, 1) + rows(10, 14, 1) + rows(21, 40, 1) + rows(40, 40, 1));
    const Imported done = imported(recording);
    EXPECT_EQ(done.rows, 40);
    EXPECT_THAT(told(done), HasSubstr("5 rows of a time before that of an earlier row of the file"));
    EXPECT_THAT(told(done), HasSubstr("1 row with the time of an earlier row of the file"));
    EXPECT_THAT(told(done), testing::Not(HasSubstr("steps that overlap")));
}

TEST(record_import, steps_that_overlap_count_each_second_once) {
    Recording recording;
    recording.write("step_0/proc_0.meta.txt", kMeta);
    recording.write("step_0/proc_0.csv", header() + rows(1, 60, 2));
    std::string later = kMeta;
    later.replace(later.find("13:00:00"), 8, "13:00:30");
    recording.write("step_1/proc_0.meta.txt", later);
    recording.write("step_1/proc_0.csv", header() + rows(1, 60, 2));
    Imported done = imported(recording);
    EXPECT_EQ(done.rows, 180);  // 90 s of two GPUs
    EXPECT_THAT(told(done), HasSubstr("left out 60 rows: their times were recorded already"));
    EXPECT_THAT(
        recording.query("SELECT count(*), count(DISTINCT time), max(energy_joules_total) FROM gpu GROUP BY "
                        "device LIMIT 1"),
        ElementsAre("90 90 36000"));
    EXPECT_EQ(recording.info().coverage, 1.0);
    EXPECT_THAT(recording.query("SELECT t0, t1, step_id FROM allocation WHERE device = 'proc_0:gpu1'"),
                ElementsAre("2026-03-01T12:00:00.000000Z 2026-03-01T12:01:30.000000Z null"));
}

}  // namespace
}  // namespace belay::record
