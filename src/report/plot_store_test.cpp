// What a sealed record keeps for a report says the same as its samples.
#include "report/plot_store.h"

#include "report/json.h"
#include "report/query.h"
#include "report/series_query.h"
#include "report/testing/record_builder.h"

#include <cmath>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

using schema::kAllocation;
using schema::kFilesystem;
using schema::kHost;
using schema::kNetwork;
using schema::kProcess;
using testing::NanSensitiveDoubleEq;
using testing::Pointwise;

record::Manifest manifest_of(int nodes) {
    record::Manifest manifest;
    manifest.job = {.id = 4711};
    for (int node = 1; node <= nodes; ++node) manifest.job.nodes.push_back(fmt::format("n{}", node));
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = std::chrono::seconds(1);
    return manifest;
}

// All that is sampled at one moment, of which nothing is round. `counted` are the seconds for which the
// counters have run.
void add_moment(RecordBuilder& record, const std::string& node, double second, double counted) {
    const double wave = std::sin(second / 7) * std::cos(second * static_cast<double>(node.size()));
    record.row(kHost, node, second)
        .set("cpu_count", 8)
        .set("cpu_user_seconds_total", 1000 + 3.3 * counted + wave)
        .set("cpu_system_seconds_total", 0.7 * counted)
        .set("cpu_iowait_seconds_total", 0.1 * counted + wave)
        .set("cpu_irq_seconds_total", 0.01 * counted)
        .set("memory_total_bytes", int64_t{64} << 30)
        .set("memory_available_bytes", (int64_t{48} << 30) + static_cast<int64_t>(1e9 * wave))
        .set("pressure_io_some_seconds_total", counted / 3);
    for (int pid : {100, 101, 102})
        record.row(kProcess, node, second)
            .set("pid", pid)
            .set("start_time", record.at(-pid))
            .set("cpu_user_seconds_total", 0.01 * pid * counted)
            .set("cpu_system_seconds_total", 0.1 * counted)
            .set("resident_bytes", static_cast<int64_t>(1e9 + 1e6 * second))
            .set("read_bytes_total", static_cast<int64_t>(777 * counted));
    for (const char* device : {"hsn0", "hsn1", "bond0", "lo"})
        record.row(kNetwork, node, second)
            .set("device", device)
            .set("receive_bytes_total", static_cast<int64_t>(1e6 / 7 * counted))
            .set("transmit_bytes_total", static_cast<int64_t>(1e6 / 3 * counted));
    record.row(kFilesystem, node, second)
        .set("kind", "disk")
        .set("name", "nvme0n1")
        .set("read_bytes_total", static_cast<int64_t>(4096 * counted))
        .set("written_bytes_total", static_cast<int64_t>(512 * counted));
}

void add_step(RecordBuilder& record, const std::string& node, int number, int from, int to, int cpus) {
    record.row(kAllocation, node, from)
        .set("step_id", std::to_string(number))
        .set("cpus", cpus)
        .set("first_task", 0)
        .set("t0", record.at(from))
        .set("t1", record.at(to));
}

struct Kind {
    const char* name;
    int nodes;
    std::function<void(RecordBuilder&)> fill;
};

const Kind kKinds[] = {
    {"many nodes out of phase", 9,
     [](RecordBuilder& record) {
         for (int node = 1; node <= 9; ++node)
             for (int i = 0; i <= 60; ++i) add_moment(record, fmt::format("n{}", node), i + 0.107 * node, i);
     }},
    {"several steps, a pause and steps at once", 2,
     [](RecordBuilder& record) {
         for (const char* node : {"n1", "n2"}) {
             add_step(record, node, 0, 0, 100, 4);
             add_step(record, node, 1, 50, 100, 4);
             add_step(record, node, 2, 700, 800, 8);
             for (int i = 0; i <= 800; ++i)
                 if (i <= 100 || i >= 700) add_moment(record, node, i, i);
         }
     }},
    {"gaps and resets", 2,
     [](RecordBuilder& record) {
         for (int i = 0; i <= 200; ++i) {
             if (i < 40 || i > 90) add_moment(record, "n1", i, i < 120 ? i : i - 120);
             if (i % 3 != 0) add_moment(record, "n2", i, i < 33 ? i : 2 * i - 66);
         }
     }},
    {"longer than a report has buckets", 1,
     [](RecordBuilder& record) {
         for (int i = 0; i <= 2000; ++i) add_moment(record, "n1", i + 0.013 * (i % 7), i);
     }},
    {"processes only", 1,
     [](RecordBuilder& record) {
         for (int i = 0; i <= 20; ++i)
             record.row(kProcess, "n1", i)
                 .set("pid", 1)
                 .set("start_time", record.at(-1))
                 .set("cpu_user_seconds_total", 0.5 * i)
                 .set("cpu_system_seconds_total", 0.0)
                 .set("resident_bytes", 1000 + i);
     }},
};

record::Archive open(const std::filesystem::path& record) {
    return record::Archive::open(record).value();
}

nlohmann::json page_of(const std::filesystem::path& record) {
    auto archive = open(record);
    return to_json(build_model(archive).value());
}

std::string difference(const nlohmann::json& before, const nlohmann::json& now) {
    return nlohmann::json::diff(before, now).dump();
}
constexpr const char* kNoDifference = "[]";

// A sealed record, without what is kept for its report.
std::filesystem::path sealed(RecordBuilder& record) {
    const std::filesystem::path path = record.write();
    EXPECT_TRUE(record::seal(path, record.at(1e6)));
    return path;
}

void keep(const std::filesystem::path& record) {
    auto archive = open(record);
    auto kept = keep_plots(archive, record);
    EXPECT_TRUE(kept) << kept.error().message();
}

// Whether the record has plots that hold.
bool are_kept(const std::filesystem::path& record) {
    auto archive = open(record);
    Measurements data = measure_axes(archive).value();
    return load_plots(archive, data).value();
}

std::filesystem::path table(const std::filesystem::path& record, std::string_view name) {
    return record / "tables" / fmt::format("{}.parquet", name);
}

void fill_briefly(RecordBuilder& record) {
    for (int i = 0; i <= 20; ++i) add_moment(record, "n1", i, i);
}

TEST(report, kept_plots_make_the_same_report_as_samples) {
    for (const Kind& kind : kKinds) {
        SCOPED_TRACE(kind.name);
        RecordBuilder record(manifest_of(kind.nodes));
        kind.fill(record);
        const std::filesystem::path path = sealed(record);
        const nlohmann::json from_samples = page_of(path);
        EXPECT_FALSE(are_kept(path));
        keep(path);
        EXPECT_TRUE(are_kept(path));
        EXPECT_EQ(difference(from_samples, page_of(path)), kNoDifference);
    }
}

TEST(report, kept_plots_are_those_of_the_unsealed_record_to_the_last_digit) {
    for (const Kind& kind : kKinds) {
        SCOPED_TRACE(kind.name);
        RecordBuilder record(manifest_of(kind.nodes));
        kind.fill(record);
        auto unsealed = open(record.write());
        const Measurements before = measure(unsealed).value();
        EXPECT_TRUE(record::seal(record.path(), record.at(1e6)));
        keep(record.path());
        auto archive = open(record.path());
        Measurements after = measure_axes(archive).value();
        ASSERT_EQ(load_plots(archive, after), true);
        for (size_t plot = 0; plot < schema::kNodePlotCount; ++plot) {
            SCOPED_TRACE(schema::kNodePlots[plot].series.name);
            EXPECT_THAT(after[plot].values, Pointwise(NanSensitiveDoubleEq(), before[plot].values));
            EXPECT_THAT(after[plot].means, Pointwise(NanSensitiveDoubleEq(), before[plot].means));
            EXPECT_THAT(after[plot].peaks, Pointwise(NanSensitiveDoubleEq(), before[plot].peaks));
        }
    }
}

TEST(report, plots_are_read_from_what_is_kept) {
    RecordBuilder record(manifest_of(1));
    fill_briefly(record);
    const std::filesystem::path path = sealed(record);
    keep(path);
    std::ofstream(table(path, "process")) << "damaged";
    auto archive = open(path);
    const Measurements data = measure(archive).value();
    EXPECT_FALSE(data[node_plot("job_cpu_share")].empty()) << "of the samples nothing is left";
    keep(path);
    EXPECT_TRUE(are_kept(path)) << "and they are not written again from what is left";
}

TEST(report, plots_that_cannot_be_read_are_made_again) {
    for (std::string_view name : {"plot_series", "plot_summary"}) {
        RecordBuilder record(manifest_of(1));
        fill_briefly(record);
        const std::filesystem::path path = sealed(record);
        keep(path);
        const nlohmann::json whole = page_of(path);
        std::filesystem::resize_file(table(path, name), std::filesystem::file_size(table(path, name)) / 2);
        EXPECT_FALSE(are_kept(path));
        EXPECT_EQ(difference(whole, page_of(path)), kNoDifference);
        keep(path);
        EXPECT_TRUE(are_kept(path));
        std::filesystem::remove(table(path, name));
        EXPECT_FALSE(are_kept(path)) << "one of the two is not enough";
        EXPECT_EQ(difference(whole, page_of(path)), kNoDifference);
    }
}

TEST(report, plots_of_other_buckets_are_not_used) {
    RecordBuilder record(manifest_of(1));
    fill_briefly(record);
    const std::filesystem::path path = sealed(record);
    keep(path);
    auto archive = open(path);
    Measurements data = measure_axes(archive).value();
    data.bucket_seconds *= 2;
    EXPECT_EQ(load_plots(archive, data), false);
    EXPECT_TRUE(data[node_plot("node_cpu_share")].empty());
}

TEST(report, of_an_unsealed_record_and_of_what_is_left_no_plots_are_kept) {
    RecordBuilder record(manifest_of(1));
    fill_briefly(record);
    auto unsealed = open(record.write());
    auto kept = keep_plots(unsealed, record.path());
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_TRUE(record::seal(record.path(), record.at(1e6)));
    std::ofstream(table(record.path(), "process")) << "damaged";
    keep(record.path());
    EXPECT_FALSE(std::filesystem::exists(table(record.path(), "plot_series")));
}

TEST(report, sql_sees_plots_whether_they_are_kept_or_not) {
    RecordBuilder record(manifest_of(1));
    fill_briefly(record);
    const std::filesystem::path path = sealed(record);
    auto answer = [&] {
        auto archive = open(path);
        EXPECT_TRUE(add_plots(archive));
        return archive
            .query(
                "SELECT count(*), sum(job_read_bytes_per_second), (SELECT highest FROM plot_summary WHERE "
                "quantity = 'job_memory_bytes') FROM plot_series")
            .value()
            .rows.at(0);
    };
    const std::vector<record::Value> made = answer();
    EXPECT_NEAR(record::as_double(made.at(1)), 20 * 3 * 777, 1);
    EXPECT_NEAR(record::as_double(made.at(2)), 3 * (1e9 + 20e6), 1);
    keep(path);
    EXPECT_EQ(answer(), made);
}

}  // namespace
}  // namespace belay::report
