// What report and rules say of the use of a node, each in a table of its own.
#include "findings/prepare.h"
#include "report/plot_store.h"
#include "report/query.h"
#include "report/testing/record_builder.h"
#include "schema/tables/node_plots.h"
#include "score/cpu_score.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

constexpr double kTolerance = 1e-6;

class Job {
  public:
    Job() {
        allot(0, 30, 4);
        allot(30, 60, 2);
    }
    // The ticks come a little late, but for every seventh.
    void tick(int i) {
        const double second = late(i);
        record_.row(schema::kHost, "n1", second)
            .set("cpu_count", 4)
            .set("cpu_user_seconds_total", 2 * second)
            .set("cpu_system_seconds_total", 0.0)
            .set("memory_total_bytes", 1000)
            .set("memory_available_bytes", 400 - i);
        for (const char* device : {"eth0", "bond0", "lo"})
            record_.row(schema::kNetwork, "n1", second)
                .set("device", device)
                .set("receive_bytes_total", 1000 * i)
                .set("transmit_bytes_total", 50 * i * i)
                .set("counted_elsewhere", std::string_view(device) == "bond0");
        for (const char* disk : {"nvme0n1", "sda"})
            record_.row(schema::kFilesystem, "n1", second)
                .set("kind", "disk")
                .set("name", disk)
                .set("read_bytes_total", 700 * i)
                .set("written_bytes_total", 10 * i * i)
                .set("reads_total", i);
    }
    // A process with a share of a CPU, in ticks from `first` to `last`.
    void process(int pid, double born, int first, int last, double share) {
        for (int i = first; i <= last; ++i)
            record_.row(schema::kProcess, "n1", late(i))
                .set("pid", pid)
                .set("start_time", record_.at(born))
                .set("cpu_user_seconds_total", share * (late(i) - born))
                .set("cpu_system_seconds_total", 0.0)
                .set("resident_bytes", 100)
                .set("read_bytes_total", static_cast<int64_t>(1e6 * share * (late(i) - born)))
                .set("written_bytes_total", 5000 * i);
    }
    // A process that only waits for children which nobody sees, and which use so much of a CPU.
    void parent(int pid, double born, int first, int last, double share) {
        for (int i = first; i <= last; ++i)
            record_.row(schema::kProcess, "n1", late(i))
                .set("pid", pid)
                .set("start_time", record_.at(born))
                .set("cpu_user_seconds_total", 0.0)
                .set("cpu_system_seconds_total", 0.0)
                .set("cpu_children_unseen_seconds_total", share * (late(i) - born));
    }
    record::Archive open() { return record::Archive::open(record_.write()).value(); }

  private:
    static record::Manifest manifest() {
        record::Manifest manifest;
        manifest.job.nodes = {"n1"};
        manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
        manifest.interval = std::chrono::seconds(1);
        return manifest;
    }
    static double late(int i) { return i + 0.01 * (i % 7); }
    void allot(int from, int to, int cpus) {
        record_.row(schema::kAllocation, "n1", from)
            .set("step_id", std::to_string(from))
            .set("t0", record_.at(from))
            .set("t1", record_.at(to))
            .set("cpus", cpus);
    }

    RecordBuilder record_{manifest()};
};

// Expects two expressions to be the same in every span that both tables have.
void expect_same(record::Archive& archive, const std::string& of_rules, const std::string& of_report) {
    // The first sample of a process is spread over the interval by one, over the node's last step by the
    // other.
    const auto answer =
        archive.query(fmt::format("SELECT count({0}), max(abs({0} - {1}) / greatest(abs({0}), 1e-3)), "
                                  "count_if(({0} IS NULL) <> ({1} IS NULL)) "
                                  "FROM node_series h JOIN plot_series p USING (time, node)",
                                  of_rules, of_report));
    ASSERT_TRUE(answer) << answer.error().message();
    const auto& row = answer->rows.at(0);
    if (record::as_double(row[0]) > 0) {
        EXPECT_LT(record::as_double(row[1]), 0.02) << of_rules;
    }
    EXPECT_EQ(record::as_double(row[2]), 0) << of_rules;
}

TEST(report, what_report_and_rules_call_the_same_is_the_same) {
    Job job;
    for (int i = 0; i <= 60; ++i) job.tick(i);
    job.process(1, -100, 0, 45, 0.5);
    job.process(2, 10.4, 11, 25, 0.8);  // begins in the run, and ends before it does
    job.process(3, 20.5, 21, 21, 1);    // is seen once
    auto archive = job.open();
    ASSERT_TRUE(findings::prepare(archive, {}));
    ASSERT_TRUE(add_plots(archive));
    const auto columns = archive.columns_of("SELECT * EXCLUDE (time, node) FROM node_series").value();
    int shared = 0;
    for (const std::string& column : columns) {
        const auto& plotted = schema::kPlotSeries.columns;
        if (std::ranges::find(plotted, column, &schema::Column::name) == plotted.end()) continue;
        ++shared;
        expect_same(archive, "h." + column, "p." + column);
    }
    EXPECT_GE(shared, 5);
    expect_same(archive, "h.network_bytes_per_second",
                "(p.network_received_bytes_per_second + p.network_sent_bytes_per_second)");
    const auto most = archive.query("SELECT count(*), max(job_cpu_share) FROM node_series").value();
    EXPECT_GE(record::as_double(most.rows.at(0).at(0)), 60);
    EXPECT_GT(record::as_double(most.rows.at(0).at(1)), 0.4) << "all three processes at once, of four CPUs";
}

TEST(report, children_that_nobody_saw_count_for_report_rules_and_score) {
    Job job;
    for (int i = 0; i <= 29; ++i) job.tick(i);
    job.parent(1, 0, 0, 29, 1.5);
    auto archive = job.open();
    ASSERT_TRUE(findings::prepare(archive, {}));
    const auto used = archive.query("SELECT avg(job_cpus_used) FROM node_series").value();
    EXPECT_NEAR(record::as_double(used.rows.at(0).at(0)), 1.5, 0.05);
    const Measurements data = measure(archive).value();
    EXPECT_NEAR(data[node_plot("job_cpu_share")].means.at(0), 1.5 / 4, 0.02);
    const auto use = score::read_cpu_use(archive);
    ASSERT_TRUE(use) << use.error().message();
    EXPECT_NEAR(use->nodes.at(0).busy_seconds, 1.5 * 29, 0.5);
}

TEST(report, a_process_counts_from_its_beginning) {
    Job job;
    for (int i = 0; i <= 14; ++i) job.tick(i);
    job.process(1, -100, 0, 14, 0);
    job.process(2, 6, 7, 7, 1);  // is seen once, on a tick that is not late
    auto archive = job.open();
    const Measurements data = measure(archive).value();
    const NodeValues& cpu = data[node_plot("job_cpu_share")];
    EXPECT_NEAR(cpu.values.at(4), 0, kTolerance);
    EXPECT_GT(cpu.values.at(6), 0.2) << "one CPU of four";
    EXPECT_NEAR(cpu.values.at(8), 0, kTolerance);
}

}  // namespace
}  // namespace belay::report
