#include "bench/analysis/analysis.h"
#include "cli/bench_roofline_record.h"
#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "schema/tables/progress.h"
#include "schema/tables/vetting.h"
#include "stream/batch.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;

// A log of 4 ranks, 100 samples/s and 1 GFLOP a sample, and what a machine gives one of them.
class RooflineCommand : public ::testing::Test {
  public:
    RooflineCommand() : directory_(core::TemporaryDirectory::create().value()) {
        write(
            "run.log",
            R"(:::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "number_of_ranks", "value": 4, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "global_batch_size", "value": 8, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "train_samples", "value": 10, "metadata": {}}
:::MLLOG {"namespace": "", "time_ms": 2, "event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {"samples_per_second": 100.0, "fp32_flops_per_second": 1e11, "step": 10}, "metadata": {}}
)");
        write(
            "machine.json",
            R"({"schema":"belay-roofline-machine-1","ranks":4,"rates":{"compute":{"value":5e10,"source":"GEMM"}}})");
        std::filesystem::create_directory(directory_.path() / "data");
        write("data/sample", std::string(1000, 'x'));
    }
    std::string path(const std::string& name) const { return directory_.path() / name; }

  private:
    void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
    core::TemporaryDirectory directory_;
};

TEST_F(RooflineCommand, says_what_binds_a_run) {
    const auto said = belay({"bench", "roofline", path("run.log"), "--machine", path("machine.json"), "--io",
                             "1e4", "--data", path("data"), "--json"});
    ASSERT_EQ(said.status, 0) << said.err;
    const auto json = core::parse_json(said.out);
    const auto& run = json.at("runs").at(0);
    EXPECT_EQ(run.at("samples_per_second_of_rank"), 25);
    EXPECT_EQ(run.at("binds"), "compute");
    EXPECT_EQ(run.at("share"), 0.5);
    // 1,000 bytes over 10 samples, and 10 kB/s.
    EXPECT_EQ(run.at("ceilings").at(3).at("samples_per_second"), 100);
    EXPECT_EQ(json.at("machine").at("ranks"), 4);
}

TEST_F(RooflineCommand, prints_what_the_analysis_reads) {
    const auto said = belay({"bench", "roofline", path("run.log"), "--machine", path("machine.json"), "--io",
                             "1e4", "--data", path("data"), "--json"});
    ASSERT_EQ(said.status, 0) << said.err;
    const auto runs = bench::read_rooflines(core::parse_ordered_json(said.out));
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].label, path("run.log"));
    EXPECT_EQ(runs[0].binds, "compute");
    EXPECT_EQ(runs[0].attained, 25);
    ASSERT_EQ(runs[0].ceilings.size(), 4U);
    EXPECT_EQ(runs[0].ceilings[0].samples_per_second, 50);
}

TEST_F(RooflineCommand, shows_a_table_and_draws) {
    const auto said = belay({"bench", "roofline", path("run.log"), "--compute", "5e10", "--memory", "1e10",
                             "--memory-bytes", "1e8", "--stored-bytes", "0", "--figure", path("f.svg"),
                             "--csv", path("f.csv")});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_NE(said.out.find("> compute"), std::string::npos) << said.out;
    EXPECT_NE(said.out.find("of which 50 % are reached"), std::string::npos) << said.out;
    EXPECT_EQ(core::read_file(path("f.svg")).value().rfind("<svg ", 0), 0U);
    EXPECT_NE(core::read_file(path("f.csv")).value().find(",memory,10,"), std::string::npos);
}

TEST_F(RooflineCommand, refuses_what_it_cannot_look_at) {
    struct Row {
        std::vector<std::string> words;
        std::string message;
    };
    for (const Row& row :
         {Row{{}, "there is nothing to look at"}, Row{{path("machine.json")}, "no line of it is MLLOG"},
          Row{{path("data")}, "record"}, Row{{path("run.log"), "--machine", path("run.log")}, "run.log"},
          Row{{path("run.log"), "--machine", path("nowhere")}, "--machine"},
          Row{{path("run.log"), "--data", path("run.log")}, "run.log"},
          Row{{path("run.log"), "--keep", path("m")}, "--keep keeps what --measure measures"},
          Row{{path("run.log"), "--measure", "--machine", path("machine.json")}, "both given"},
          Row{{path("run.log"), "--compute", "-1"}, "the rate F cannot be -1"},
          Row{{path("run.log"), "--batch", "0"}, "the batch of a rank cannot be 0"}}) {
        std::vector<std::string> words = {"bench", "roofline"};
        words.insert(words.end(), row.words.begin(), row.words.end());
        const auto said = belay(words);
        EXPECT_EQ(said.status, 2) << row.message << "\n" << said.err;
        EXPECT_NE(said.err.find(row.message), std::string::npos) << said.err;
    }
}

TEST(roofline_record, rates_have_many_units) {
    EXPECT_DOUBLE_EQ(*rate_in_unit(2, "GFLOP/s"), 2e9);
    EXPECT_DOUBLE_EQ(*rate_in_unit(2, "TFLOP/s"), 2e12);
    EXPECT_DOUBLE_EQ(*rate_in_unit(2, "GiB/s"), 2147483648.0);
    EXPECT_DOUBLE_EQ(*rate_in_unit(8, "Gbit/s"), 1e9);
    EXPECT_FALSE(rate_in_unit(2, "MHz"));
}

class RooflineRows {
  public:
    explicit RooflineRows(const schema::Table& table) : batch_(table) {}
    RooflineRows& at(int64_t second, std::string_view node) {
        batch_.add_row(core::time_from_nanoseconds((1'700'000'000 + second) * 1'000'000'000), node);
        return *this;
    }
    template <typename T>
    RooflineRows& set(std::string_view name, T value) {
        for (size_t i = 0; i < batch_.table().columns.size(); ++i)
            if (batch_.table().columns[i].name == name) batch_.set(i, value);
        return *this;
    }
    void add_to(record::Archive& archive) const { ASSERT_TRUE(archive.add(batch_.table(), batch_)); }

  private:
    stream::Batch batch_;
};

// Two ranks on one node train from second 10 to 20, at 50 samples/s.
void add_training(record::Archive& archive) {
    RooflineRows progress(schema::kProgress);
    progress.at(0, "n").set("kind", "mark").set("key", "number_of_ranks").set("value", 2.0);
    progress.at(0, "n").set("kind", "mark").set("key", "global_batch_size").set("value", 4.0);
    progress.at(0, "n").set("kind", "mark").set("key", "submission_benchmark").set("text", "\"cosmoflow\"");
    for (const int64_t second : {10, 20})
        progress.at(second, "n")
            .set("kind", "train")
            .set("key", "tracked_stats")
            .set("step", second)
            .set("samples_per_second", 50.0)
            .set("fp32_flops_per_second", 1e11)
            .set("step_seconds", 0.1)
            .set("data_wait_seconds", 0.02)
            .set("exposed_communication_seconds", 0.01);
    progress.add_to(archive);
}

TEST(roofline_record, says_what_its_run_did) {
    auto archive = record::Archive::in_memory().value();
    const auto refused = facts_of_record(archive, "r");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    add_training(archive);
    const auto facts = facts_of_record(archive, "r").value();
    EXPECT_EQ(facts.benchmark, "cosmoflow");
    EXPECT_DOUBLE_EQ(*facts.ranks, 2);
    EXPECT_NEAR(*facts.samples_per_second_of_rank(), 25, 1e-9);
    EXPECT_NEAR(*facts.flops.value, 2e9, 1e-3);
    EXPECT_NEAR(*facts.data_wait_share(), 0.2, 1e-9);
    EXPECT_NEAR(*facts.communication_share(), 0.1, 1e-9);
}

TEST(roofline_record, a_run_that_goes_on_begins_to_count_where_it_does) {
    auto archive = record::Archive::in_memory().value();
    RooflineRows progress(schema::kProgress);
    progress.at(0, "n").set("kind", "mark").set("key", "resumed_from_step").set("value", 90.0);
    for (const int64_t step : {100, 110})
        progress.at(step, "n")
            .set("kind", "train")
            .set("key", "tracked_stats")
            .set("step", step)
            .set("samples_per_second", step == 100 ? 100.0 : 50.0);
    progress.add_to(archive);
    EXPECT_NEAR(*facts_of_record(archive, "r").value().samples_per_second, 2 / (1 / 100.0 + 1 / 50.0), 1e-9);
}

TEST(roofline_record, says_what_was_moved_while_it_trained) {
    auto archive = record::Archive::in_memory().value();
    add_training(archive);
    // Counters move by 1,000 a second, of each of two processes and interfaces, and before and after as well.
    RooflineRows process(schema::kProcess), network(schema::kNetwork), vetting(schema::kVetting);
    for (int64_t second = 0; second <= 30; second += 5) {
        for (const int64_t pid : {7, 8})
            process.at(second, "n").set("pid", pid).set("read_bytes_total", 1000 * second);
        for (const std::string_view device : {"eth0", "bond0"})
            network.at(second, "n")
                .set("device", device)
                .set("transmit_bytes_total", 1000 * second)
                .set("counted_elsewhere", device == "bond0");
    }
    for (const double rate : {300.0, 200.0})
        vetting.at(0, "n")
            .set("type", "cpu.sgemm")
            .set("status", "pass")
            .set("unit", "GFLOP/s")
            .set("value", rate);
    for (const RooflineRows* rows : {&process, &network, &vetting}) rows->add_to(archive);
    const auto moved = moved_in_record(archive, 2).value();
    EXPECT_DOUBLE_EQ(moved.seconds, 10);
    EXPECT_DOUBLE_EQ(*moved.storage_bytes, 20'000);
    EXPECT_DOUBLE_EQ(*moved.network_bytes, 10'000);
    EXPECT_FALSE(moved.memory_active);
    // The slower of two nodes, shared by two ranks.
    EXPECT_DOUBLE_EQ(*moved.vetted.rate(bench::roofline::Resource::kCompute).value, 100e9);
}

}  // namespace
}  // namespace belay::cli
