#include "report/query.h"

#include "report/testing/record_builder.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::report {
namespace {

using schema::kAllocation;
using schema::kCoverage;
using schema::kEvent;
using schema::kFilesystem;
using schema::kHost;
using schema::kNetwork;
using schema::kProcess;
using schema::kProgress;

constexpr double kTolerance = 1e-6;

record::Manifest manifest_of(std::vector<std::string> nodes) {
    record::Manifest manifest;
    manifest.job = {.cluster = "alps",
                    .id = 4711,
                    .array_task = 3,
                    .name = "train",
                    .user = "mira",
                    .nodes = std::move(nodes)};
    manifest.command = {"/usr/bin/python3", "train.py"};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = std::chrono::seconds(1);
    manifest.flush = std::chrono::seconds(2);
    manifest.software = {{"belay", "0.1.0"}};
    return manifest;
}

// 4 CPUs: 2 busy in user mode, 0.5 in the kernel; 1 GiB of 4 in use.
void add_host(RecordBuilder& record, const std::string& node, double second, double reset_at = 1e9) {
    double counted = second < reset_at ? second + 1000 : second - reset_at;
    record.row(kHost, node, second)
        .set("cpu_count", 4)
        .set("cpu_user_seconds_total", 2 * counted)
        .set("cpu_system_seconds_total", 0.5 * counted)
        .set("cpu_irq_seconds_total", 0.0)
        .set("cpu_steal_seconds_total", 0.0)
        .set("memory_total_bytes", int64_t{4} << 30)
        .set("memory_available_bytes", int64_t{3} << 30);
}

Measurements measured(RecordBuilder& record) {
    auto archive = record::Archive::open(record.write());
    if (!archive) throw std::runtime_error(archive.error().message());
    auto data = measure(*archive);
    if (!data) throw std::runtime_error(data.error().message());
    return std::move(*data);
}

size_t missing_in(const NodeValues& values, size_t node, size_t buckets) {
    auto row = std::span(values.values).subspan(node * buckets, buckets);
    return static_cast<size_t>(std::ranges::count_if(row, is_missing));
}

TEST(report, counters_become_rates_per_node) {
    RecordBuilder record(manifest_of({"n2", "n1"}));
    for (int i = 0; i <= 60; ++i) {
        add_host(record, "n1", i);
        add_host(record, "n2", i);
    }
    Measurements data = measured(record);
    ASSERT_EQ(data.nodes.size(), 2U);
    EXPECT_EQ(data.nodes.at(0).name, "n2") << "the job's order";
    EXPECT_EQ(data.nodes.at(0).cpus, 4);
    EXPECT_EQ(data.buckets, 60U);
    EXPECT_DOUBLE_EQ(data.seconds, 60);
    for (double value : data[node_plot("cpu_user_share")].values) EXPECT_NEAR(value, 0.5, kTolerance);
    for (double value : data[node_plot("node_cpu_share")].values) EXPECT_NEAR(value, 0.625, kTolerance);
    for (double value : data[node_plot("node_memory_bytes")].values) EXPECT_NEAR(value, 1 << 30, 1);
    EXPECT_NEAR(data[node_plot("cpu_user_share")].means.at(1), 0.5, kTolerance);
    EXPECT_NEAR(data[node_plot("cpu_user_share")].peaks.at(1), 0.5, kTolerance);
    EXPECT_TRUE(data.gaps.empty());
}

TEST(report, what_was_never_measured_is_absent) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i) add_host(record, "n1", i);
    Measurements data = measured(record);
    EXPECT_TRUE(data[node_plot("cpu_pressure_share")].empty());
    EXPECT_TRUE(data[node_plot("cpu_iowait_share")].empty());
    EXPECT_TRUE(data[node_plot("job_cpu_share")].empty());
    ReportModel model = assemble(data);
    for (const Chart& chart : model.charts) EXPECT_NE(chart.id, "pressure");
    EXPECT_FALSE(model.training);
}

TEST(report, memory_that_was_promised_has_a_chart) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i) record.row(kHost, "n1", i).set("memory_committed_bytes", int64_t{i} << 30);
    Measurements data = measured(record);
    EXPECT_EQ(data[node_plot("memory_committed_bytes")].peaks.at(0), int64_t{10} << 30);
    ReportModel model = assemble(data);
    ASSERT_EQ(model.charts.size(), 1U);
    EXPECT_EQ(model.charts.at(0).id, "memory_committed");
    EXPECT_EQ(model.charts.at(0).series.at(0).values.at(4), int64_t{5} << 30);
    EXPECT_EQ(model.grid.metrics.at(0).label, "Memory, reserved");
}

TEST(report, ticks_out_of_phase_make_no_gaps) {
    RecordBuilder record(manifest_of({"n1", "n2"}));
    for (int i = 0; i <= 120; ++i) {
        // Some tens of milliseconds late, now and then; n2 half a second after n1.
        add_host(record, "n1", i + 0.03 * (i % 3));
        add_host(record, "n2", i + 0.499 + 0.004 * (i % 2));
    }
    Measurements data = measured(record);
    EXPECT_EQ(missing_in(data[node_plot("cpu_user_share")], 0, data.buckets), 1U)
        << "only the end, where n1 had ended";
    EXPECT_EQ(missing_in(data[node_plot("cpu_user_share")], 1, data.buckets), 0U);
    for (double value : data[node_plot("cpu_user_share")].values)
        EXPECT_TRUE(is_missing(value) || std::abs(value - 0.5) < kTolerance) << value;
}

TEST(report, a_gap_is_missing_and_listed) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 60; ++i)
        if (i <= 20 || i >= 30) add_host(record, "n1", i);
    Measurements data = measured(record);
    const NodeValues& cpu = data[node_plot("cpu_user_share")];
    // The sample at 30 stands for nothing: how the time since 20 was spent is not known.
    for (size_t bucket = 0; bucket < data.buckets; ++bucket)
        EXPECT_EQ(is_missing(cpu.values.at(bucket)), bucket >= 20 && bucket < 30) << bucket;
    // Memory is a gauge, known for the interval before the sample.
    EXPECT_EQ(missing_in(data[node_plot("node_memory_bytes")], 0, data.buckets), 9U);
    EXPECT_NEAR(cpu.means.at(0), 0.5, kTolerance) << "a gap is not a zero";
    ASSERT_EQ(data.gaps.size(), 1U);
    EXPECT_EQ(data.gaps.at(0).node, "n1");
    EXPECT_EQ(data.gaps.at(0).table, "host");
    EXPECT_NEAR(data.gaps.at(0).start, 20, kTolerance);
    EXPECT_NEAR(data.gaps.at(0).seconds, 10, kTolerance);
}

TEST(report, one_missed_sample_is_bridged) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 30; ++i)
        if (i != 7) add_host(record, "n1", i);
    Measurements data = measured(record);
    EXPECT_EQ(missing_in(data[node_plot("cpu_user_share")], 0, data.buckets), 0U);
    EXPECT_TRUE(data.gaps.empty());
}

TEST(report, a_reset_counter_is_missing_not_negative) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 60; ++i) add_host(record, "n1", i, 30);
    Measurements data = measured(record);
    const NodeValues& cpu = data[node_plot("cpu_user_share")];
    EXPECT_TRUE(is_missing(cpu.values.at(29)));
    EXPECT_EQ(missing_in(cpu, 0, data.buckets), 1U);
    for (double value : cpu.values)
        EXPECT_TRUE(is_missing(value) || std::abs(value - 0.5) < kTolerance) << value;
}

TEST(report, shares_of_a_node_never_exceed_it) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i)
        record.row(kHost, "n1", i)
            .set("cpu_count", 2)
            .set("cpu_user_seconds_total", 1.9 * i)
            .set("cpu_system_seconds_total", 0.12 * i);
    Measurements data = measured(record);
    EXPECT_NEAR(data[node_plot("node_cpu_share")].peaks.at(0), 1, kTolerance);
    EXPECT_NEAR(
        data[node_plot("cpu_user_share")].values.at(5) + data[node_plot("cpu_system_share")].values.at(5), 1,
        kTolerance);
}

TEST(report, iowait_may_go_back_a_little) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i)
        record.row(kHost, "n1", i)
            .set("cpu_count", 1)
            .set("cpu_iowait_seconds_total", i == 5 ? 0.35 : 0.1 * i);
    Measurements data = measured(record);
    const NodeValues& iowait = data[node_plot("cpu_iowait_share")];
    EXPECT_EQ(missing_in(iowait, 0, data.buckets), 0U);
    EXPECT_NEAR(iowait.values.at(4), 0, kTolerance);
    EXPECT_NEAR(iowait.values.at(7), 0.1, kTolerance);
}

TEST(report, processes_add_up_to_the_job) {
    RecordBuilder record(manifest_of({"n1"}));
    record.row(kAllocation, "n1", 0).set("t0", record.at(0)).set("cpus", 2).set("tasks", 2);
    for (int i = 0; i <= 20; ++i) {
        add_host(record, "n1", i);
        for (int pid : {100, 200}) {
            if (pid == 200 && i > 10) continue;  // ends half way
            record.row(kProcess, "n1", i)
                .set("pid", pid)
                .set("start_time", record.at(-1))
                .set("cpu_user_seconds_total", 50 + 0.75 * i)
                .set("cpu_system_seconds_total", 0.25 * i)
                .set("resident_bytes", 1000)
                .set("read_bytes_total", 500 * i);
        }
    }
    Measurements data = measured(record);
    EXPECT_EQ(data.nodes.at(0).cpus_allotted, 2);
    EXPECT_EQ(data.nodes.at(0).tasks, 2);
    EXPECT_NEAR(data[node_plot("job_cpu_share")].values.at(3), 1.0, kTolerance) << "two CPUs of two";
    EXPECT_NEAR(data[node_plot("job_cpu_share")].values.at(15), 0.5, kTolerance);
    EXPECT_NEAR(data[node_plot("job_memory_bytes")].values.at(3), 2000, kTolerance);
    EXPECT_NEAR(data[node_plot("job_memory_bytes")].peaks.at(0), 2000, kTolerance);
    EXPECT_NEAR(data[node_plot("job_read_bytes_per_second")].values.at(3), 1000, kTolerance);
    EXPECT_TRUE(data[node_plot("job_written_bytes_per_second")].empty());
}

TEST(report, traffic_is_counted_once_and_loopback_apart) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i) {
        for (const char* device : {"eth0", "eth1", "lo"})
            record.row(kNetwork, "n1", i)
                .set("device", device)
                .set("receive_bytes_total", 100 * i)
                .set("transmit_bytes_total", (std::string_view(device) == "lo" ? 7 : 10) * i);
        for (const char* disk : {"nvme0n1", "dm-0", "md127", "loop3"})
            record.row(kFilesystem, "n1", i)
                .set("kind", "disk")
                .set("name", disk)
                .set("read_bytes_total", 4096 * i);
        record.row(kFilesystem, "n1", i)
            .set("kind", "mount")
            .set("name", "/scratch")
            .set("type", "lustre")
            .set("size_bytes", int64_t{1} << 40)
            .set("available_bytes", int64_t{1} << 39);
    }
    Measurements data = measured(record);
    EXPECT_NEAR(data[node_plot("network_received_bytes_per_second")].values.at(5), 200, kTolerance);
    EXPECT_NEAR(data[node_plot("network_sent_bytes_per_second")].values.at(5), 20, kTolerance);
    EXPECT_NEAR(data[node_plot("loopback_bytes_per_second")].values.at(5), 7, kTolerance);
    EXPECT_NEAR(data[node_plot("disk_read_bytes_per_second")].values.at(5), 4096, kTolerance);
    auto group = std::ranges::find(data.facts, "File systems", &FactGroup::title);
    ASSERT_NE(group, data.facts.end());
    EXPECT_EQ(group->facts.at(0).name, "/scratch");
    EXPECT_EQ(group->facts.at(0).value, "lustre, 512 GiB free of 1.00 TiB");
}

TEST(report, totals_pass_over_resets_and_holes) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 10; ++i) {
        Row row = record.row(kNetwork, "n1", i);
        row.set("device", "ib0").set("transmit_bytes_total", i * 1000);
        if (i != 3) row.set("receive_bytes_total", i < 6 ? 90'000 + i * 1000 : (i - 6) * 1000);  // reset at 6
    }
    Measurements data = measured(record);
    auto group = std::ranges::find(data.facts, "Network interfaces", &FactGroup::title);
    ASSERT_NE(group, data.facts.end());
    EXPECT_EQ(group->facts.at(0).value, "9.00 kB received, 10.0 kB sent");
}

TEST(report, totals_lose_nothing_in_a_gap_and_count_all_nodes) {
    RecordBuilder record(manifest_of({"n1", "n2"}));
    for (int i : {0, 1, 2, 40, 41})
        for (const char* node : {"n1", "n2"})
            record.row(kNetwork, node, i)
                .set("device", "ib0")
                .set("receive_bytes_total", i * 1000)
                .set("transmit_bytes_total", 5)
                .set("receive_errors_total", i / 40)
                .set("transmit_errors_total", 7);
    Measurements data = measured(record);
    auto group = std::ranges::find(data.facts, "Network interfaces", &FactGroup::title);
    ASSERT_NE(group, data.facts.end());
    EXPECT_EQ(group->facts.at(0).value, "82.0 kB received, 0 B sent, 2 errors");
}

TEST(report, long_records_are_thinned) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 5000; ++i) add_host(record, "n1", i);
    for (int i = 1; i <= 2000; ++i)
        record.row(kProgress, "n1", 2 * i).set("kind", "train").set("loss", 1.0 / i);
    Measurements data = measured(record);
    EXPECT_EQ(data.buckets, kMostPoints);
    EXPECT_EQ(missing_in(data[node_plot("cpu_user_share")], 0, data.buckets), 0U);
    EXPECT_NEAR(data[node_plot("cpu_user_share")].means.at(0), 0.5, kTolerance);
    EXPECT_LE(data.progress.size(), kMostPoints);
    EXPECT_GE(data.progress.size(), kMostPoints / 2);
    EXPECT_TRUE(std::ranges::is_sorted(data.progress, {}, &ProgressPoint::seconds));
}

TEST(report, progress_is_told_by_one_rank) {
    RecordBuilder record(manifest_of({"n1"}));
    for (int i = 0; i <= 30; ++i) add_host(record, "n1", i);
    record.row(kProgress, "n1", 0.1)
        .set("kind", "mark")
        .set("key", "submission_benchmark")
        .set("text", "\"cosmoflow\"");
    record.row(kProgress, "n1", 0.2).set("kind", "mark").set("key", "eval_target").set("value", 0.13);
    for (int task : {0, 1})
        for (int i = 1; i <= 20; ++i)
            record.row(kProgress, "n1", i)
                .set("kind", "train")
                .set("task", task)
                .set("step", i)
                .set("loss", 1.0 / i)
                .set("samples_per_second", 100.0);
    for (int epoch : {1, 2})
        record.row(kProgress, "n1", 10.0 * epoch)
            .set("kind", "evaluation")
            .set("key", "eval_error")
            .set("task", 0)
            .set("epoch", static_cast<double>(epoch))
            .set("metric", 0.25 / epoch);
    // A clock that is wrong: neither drawn nor taken for the length of the job.
    record.row(kProgress, "n1", -1e6).set("kind", "train").set("task", 0).set("loss", 9.0);
    Measurements data = measured(record);
    EXPECT_DOUBLE_EQ(data.seconds, 30);
    EXPECT_EQ(data.progress.size(), 22U);
    ReportModel model = assemble(data);
    ASSERT_TRUE(model.training);
    EXPECT_EQ(model.training->benchmark, "cosmoflow");
    EXPECT_EQ(model.training->metric_label, "MAE");
    EXPECT_EQ(model.training->steps, 20);
    EXPECT_EQ(model.training->target_reached, true);
    EXPECT_NEAR(model.training->seconds_to_target, 20, kTolerance);
    EXPECT_NEAR(model.training->throughput_mean, 100, kTolerance);
}

TEST(report, coverage_and_what_is_lost) {
    record::Manifest manifest = manifest_of({"n1", "n2"});
    manifest.lost = {{"a.seg", 0, 0, "was killed"}, {"b.seg", 0, 7, "truncated"}};
    RecordBuilder record(manifest);
    for (int i = 0; i <= 10; ++i) add_host(record, "n1", i);
    record.row(kCoverage, "n1", 10).set("table_name", "host").set("expected", 30).set("received", 30);
    record.row(kCoverage, "n1", 10).set("table_name", "network").set("expected", 10).set("received", 5);
    ReportModel model = assemble(measured(record));
    EXPECT_NEAR(model.coverage.total, 35.0 / 40, kTolerance) << "weighted by samples";
    EXPECT_THAT(model.coverage.tables, testing::ElementsAre("host", "network"));
    EXPECT_NEAR(model.coverage.nodes.at(0).shares.at(1), 0.5, kTolerance);
    EXPECT_THAT(model.coverage.lost,
                testing::ElementsAre("a.seg: was killed", "7 B of b.seg from byte 0 on: truncated",
                                     testing::HasSubstr("n2")));
}

TEST(report, a_recorder_that_fell_silent_leaves_a_gap_to_the_end) {
    RecordBuilder record(manifest_of({"n1", "n2"}));
    for (const char* node : {"n1", "n2"}) record.row(kAllocation, node, 0).set("t0", record.at(0));
    for (int i = 0; i <= 60; ++i) {
        add_host(record, "n1", i);
        if (i <= 25) add_host(record, "n2", i);
    }
    record.row(kAllocation, "n1", 60).set("t0", record.at(0)).set("t1", record.at(60));
    Measurements data = measured(record);
    auto silent =
        std::ranges::find_if(data.gaps, [](const Gap& gap) { return gap.node == "n2" && gap.start > 1; });
    ASSERT_NE(silent, data.gaps.end());
    EXPECT_NEAR(silent->start, 25, kTolerance);
    EXPECT_NEAR(silent->seconds, 35, kTolerance);
}

TEST(report, an_empty_record_is_a_report_too) {
    RecordBuilder record(manifest_of({"n1"}));
    record::Manifest manifest = manifest_of({"n1"});
    ReportModel model = assemble(measured(record));
    EXPECT_TRUE(model.charts.empty());
    EXPECT_TRUE(model.nodes.empty());
    EXPECT_EQ(model.seconds, 0);
    EXPECT_FALSE(model.summary.empty());
}

TEST(report, names_with_quotes_are_only_names) {
    const std::string node = "n'1\"; DROP TABLE host; --";
    RecordBuilder record(manifest_of({node}));
    for (int i = 0; i <= 5; ++i) add_host(record, node, i);
    Measurements data = measured(record);
    ASSERT_EQ(data.nodes.size(), 1U);
    EXPECT_EQ(data.nodes.at(0).name, node);
    EXPECT_NEAR(data[node_plot("cpu_user_share")].values.at(3), 0.5, kTolerance);
}

}  // namespace
}  // namespace belay::report
