// Several steps in one record: what a job is said to have used is what its steps were given and used.
#include "report/query.h"
#include "report/testing/record_builder.h"
#include "score/cpu_score.h"

#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

constexpr double kTolerance = 1e-6;

record::Manifest manifest() {
    record::Manifest manifest;
    manifest.job = {.id = 4711, .nodes = {"n1"}};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = std::chrono::seconds(1);
    return manifest;
}

// A step on a node of 8 CPUs, all of whose CPUs a process of its own keeps busy.
void add_step(RecordBuilder& record, int number, int from, int to, int cpus) {
    record.row(schema::kAllocation, "n1", from)
        .set("step_id", std::to_string(number))
        .set("cpus", cpus)
        .set("first_task", 0)
        .set("t0", record.at(from))
        .set("t1", record.at(to));
    for (int second = from; second <= to; ++second) {
        record.row(schema::kHost, "n1", second)
            .set("cpu_count", 8)
            .set("cpu_user_seconds_total", 1e4 + 8.0 * second)
            .set("cpu_system_seconds_total", 0.0);
        record.row(schema::kNetwork, "n1", second).set("device", "eth0");
        record.row(schema::kFilesystem, "n1", second).set("kind", "disk").set("name", "sda");
        record.row(schema::kProcess, "n1", second)
            .set("pid", 100 + number)
            .set("start_time", record.at(from))
            .set("cpu_user_seconds_total", static_cast<double>(cpus) * (second - from))
            .set("cpu_system_seconds_total", 0.0);
    }
}

struct Told {
    Measurements data;
    score::JobScore score;
};

Told told_of(RecordBuilder& record) {
    auto archive = record::Archive::open(record.write());
    if (!archive) throw std::runtime_error(archive.error().message());
    auto data = measure(*archive);
    auto use = score::read_cpu_use(*archive);
    if (!data || !use) throw std::runtime_error("the record cannot be measured");
    return {std::move(*data), score::score_cpus(*use)};
}

TEST(report, a_pause_between_two_steps_is_neither_idle_nor_a_gap) {
    RecordBuilder record(manifest());
    add_step(record, 0, 0, 100, 8);
    add_step(record, 1, 900, 1000, 8);
    Told told = told_of(record);
    EXPECT_NEAR(told.score.busy_engine, 1, kTolerance) << "8 CPUs, busy for all of both steps";
    EXPECT_NEAR(told.score.score.coverage, 1, kTolerance);
    EXPECT_TRUE(told.data.gaps.empty()) << told.data.gaps.at(0).start;
    EXPECT_NEAR(told.data[node_plot("job_cpu_share")].means.at(0), 1, 0.01);
}

TEST(report, steps_at_once_have_their_cpus_together) {
    RecordBuilder record(manifest());
    add_step(record, 0, 0, 100, 4);
    add_step(record, 1, 50, 100, 4);
    Told told = told_of(record);
    EXPECT_NEAR(told.score.busy_engine, 1, kTolerance) << "4 CPUs for 50 s, then 8";
    EXPECT_EQ(told.data.nodes.at(0).cpus_allotted, 8);
    EXPECT_NEAR(told.data[node_plot("job_cpu_share")].means.at(0), 1, 0.02);
    EXPECT_LE(told.data[node_plot("job_cpu_share")].peaks.at(0), 1 + kTolerance);
    EXPECT_NEAR(told.data[node_plot("job_cpu_share")].values.at(20), 1, kTolerance)
        << "of the 4 that there were then";
}

TEST(report, a_process_counts_from_its_beginning_in_the_job_or_since_it_was_seen) {
    RecordBuilder record(manifest());
    record.row(schema::kAllocation, "n1", 0)
        .set("step_id", "0")
        .set("cpus", 2)
        .set("t0", record.at(0))
        .set("t1", record.at(100));
    record.row(schema::kHost, "n1", 0).set("cpu_count", 8);
    auto add = [&](int pid, int born, double seconds_before, int second) {
        record.row(schema::kProcess, "n1", second)
            .set("pid", pid)
            .set("start_time", record.at(born))
            .set("cpu_user_seconds_total", seconds_before + second)
            .set("cpu_system_seconds_total", 0.0);
    };
    for (int second : {0, 20, 40, 60, 80, 100}) {
        add(1, -50, 500, second);
        if (second >= 60) add(2, 10, -10, second);
    }
    EXPECT_NEAR(told_of(record).score.busy_engine, 0.95, kTolerance)
        << "100 s of the one that was there before, 90 s of the other, in 2 x 100 s; gaps lose nothing";
}

TEST(report, time_without_samples_in_a_step_is_still_a_gap) {
    RecordBuilder record(manifest());
    add_step(record, 0, 0, 100, 8);
    record.row(schema::kAllocation, "n1", 900)
        .set("step_id", "1")
        .set("cpus", 8)
        .set("first_task", 0)
        .set("t0", record.at(900))
        .set("t1", record.at(1000));
    Told told = told_of(record);
    ASSERT_EQ(told.data.gaps.size(), 1U);
    EXPECT_NEAR(told.data.gaps[0].start, 900, kTolerance);
    EXPECT_NEAR(told.data.gaps[0].seconds, 100, kTolerance);
}

void add_check(RecordBuilder& record, const char* type, double value, const char* unit, const char* method,
               int cpus) {
    record.row(schema::kVetting, "n1", 0)
        .set("name", type)
        .set("type", type)
        .set("status", "pass")
        .set("value", value)
        .set("unit", unit)
        .set("method", method)
        .set("cpus", cpus);
}

TEST(report, the_score_of_cpus_takes_each_ceiling_and_all_reported_work) {
    RecordBuilder record(manifest());
    add_step(record, 0, 0, 100, 8);
    add_check(record, "cpu.gemm", 1, "GFLOP/s", "OpenBLAS 0.3.21", 8);
    add_check(record, "cpu.sgemm", 2, "GFLOP/s", "OpenBLAS 0.3.21", 8);
    add_check(record, "cpu.stream", 4e9, "bytes/s", "", 4);
    for (int second = 0; second <= 100; second += 10) {
        record.row(schema::kProgress, "n1", second)
            .set("source", "mllog")
            .set("task", 0)
            .set("fp32_flops_per_second", 1e9)
            .set("memory_bytes_per_second", 2e9);
        // What was logged between, and a line for people, take nothing from the interval.
        record.row(schema::kProgress, "n1", second + 0.01)
            .set("source", "mllog")
            .set("task", 0)
            .set("kind", "mark")
            .set("key", "epoch_stop");
        record.row(schema::kProgress, "n1", second)
            .set("source", "pattern")
            .set("task", 0)
            .set("step", second);
    }
    auto archive = record::Archive::open(record.write()).value();
    const score::CpuUse use = score::read_cpu_use(archive).value();
    ASSERT_EQ(use.nodes.size(), 1U);
    const score::CpuCeilings& top = use.nodes[0].ceilings;
    EXPECT_DOUBLE_EQ(top.double_flops.rate, 1e9);
    EXPECT_DOUBLE_EQ(top.single_flops.rate, 2e9);
    EXPECT_DOUBLE_EQ(top.single_flops.cpus, 8);
    EXPECT_DOUBLE_EQ(top.bytes.rate, 4e9);
    EXPECT_DOUBLE_EQ(top.bytes.cpus, 4) << "the triad ran with fewer threads";
    EXPECT_TRUE(top.is_blas);
    EXPECT_NEAR(use.work.single_flop, 1e11, 1);
    EXPECT_NEAR(use.work.bytes, 2e11, 1);
    EXPECT_TRUE(std::isnan(use.work.double_flop));
    EXPECT_NEAR(use.reported_seconds, 100, kTolerance);
    EXPECT_NEAR(use.nodes[0].others_seconds, 0, 8) << "the host was as busy as the job";
    const score::JobScore job = score::score_cpus(use);
    EXPECT_TRUE(std::isnan(job.score.point)) << "memory was not measured on all CPUs";
    EXPECT_NEAR(job.score.low, 50, kTolerance) << "half of the products";
}

}  // namespace
}  // namespace belay::report
