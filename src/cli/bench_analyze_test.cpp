#include "bench/analysis/run.h"
#include "cli/bench_logs.h"
#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string log_line(int64_t seconds, std::string_view key, std::string_view value,
                     std::string_view metadata = "{}") {
    return fmt::format(
        R"(:::MLLOG {{"namespace": "", "time_ms": {}, "event_type": "POINT_IN_TIME", "key": "{}", "value": {}, "metadata": {}}})"
        "\n",
        1000 * seconds, key, value, metadata);
}

// Ten seconds of staging, then epochs of which each ends with two seconds of evaluation.
std::string log_text(int epochs, int epoch_seconds, std::string_view status = "success") {
    std::string text = log_line(0, "submission_benchmark", "\"cosmoflow\"") +
                       log_line(0, "global_batch_size", "64") + log_line(0, "train_samples", "1000") +
                       log_line(0, "eval_samples", "200") + log_line(100, "run_start", "null") +
                       log_line(100, "staging_start", "null") + log_line(110, "staging_stop", "null");
    int64_t now = 110;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        const std::string number = fmt::format("{{\"epoch_num\": {}}}", epoch);
        text += log_line(now, "epoch_start", "null", number);
        now += epoch_seconds;
        text += log_line(now - 2, "eval_start", "null", number) + log_line(now, "eval_error", "0.1", number) +
                log_line(now, "eval_stop", "null", number) + log_line(now, "epoch_stop", "null", number);
    }
    return text + log_line(now, "run_stop", "null", fmt::format("{{\"status\": \"{}\"}}", status));
}

// A package of one site with two systems: 4 nodes of 2 accelerators, and 8.
class AnalyzeCommand : public ::testing::Test {
  public:
    AnalyzeCommand() : directory_(core::TemporaryDirectory::create().value()) {
        for (int nodes : {4, 8}) {
            const std::string system = fmt::format("alpha_{}", nodes);
            write(
                "site/systems/" + system + ".json",
                fmt::format(
                    R"({{"system_name": "{}", "submitter": "site", "division": "Closed", "status": "onprem",)"
                    R"("number_of_nodes": {}, "accelerators_per_node": 2}})",
                    system, nodes));
            for (int run = 0; run < 4; ++run)
                write(fmt::format("site/results/{}/cosmoflow/result_{}.txt", system, run),
                      log_text(10 + run, 400 / nodes));
        }
    }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(path(name)).parent_path());
        std::ofstream(path(name)) << text;
    }
    std::string path(const std::string& name = "") const { return directory_.path() / name; }
    cli::testing::Outcome analyze(std::vector<std::string> words) const {
        words.insert(words.begin(), {"bench", "analyze", path()});
        return belay(words);
    }

  private:
    core::TemporaryDirectory directory_;
};

TEST_F(AnalyzeCommand, places_the_logs_of_a_package_in_its_systems) {
    write("site/results/alpha_4/cosmoflow/notes.txt", "not a log by its name");
    write("site/results/alpha_4/cosmoflow/empty.log", "not a log by what it holds\n");
    fs::create_symlink(path("site/results/alpha_4/cosmoflow/result_0.txt"), path("link.log"));
    const auto found = find_logs({.paths = {path()}, .ruleset = "3.0.0", .staging_excluded = {"alpha_8"}});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->runs.size(), 8U) << "links and other names are left alone";
    const bench::RunInput& run = found->runs.front();
    EXPECT_EQ(run.system, "alpha_4");
    EXPECT_EQ(run.submitter, "site");
    EXPECT_EQ(run.facts.nodes, 4);
    EXPECT_EQ(run.facts.accelerators_per_node, 2);
    EXPECT_EQ(run.facts.division, "closed");
    EXPECT_EQ(run.facts.epochs, 10);
    EXPECT_EQ(run.facts.staging_seconds, 10);
    EXPECT_EQ(run.first_epoch, 1);
    EXPECT_TRUE(run.staging_moves_data);
    EXPECT_FALSE(found->runs.back().staging_moves_data);
    ASSERT_EQ(found->left_out.size(), 1U);
    EXPECT_THAT(found->left_out.front(), HasSubstr("empty.log: is not a log of a run"));
}

TEST_F(AnalyzeCommand, nodes_without_accelerators_count_by_their_processors) {
    write("site/systems/alpha_8.json",
          R"({"number_of_nodes": 8, "accelerators_per_node": "0", "host_processors_per_node": "2"})");
    write("site/results/alpha_8/cosmoflow/result_0.txt",
          log_line(0, "number_of_nodes", "2") + log_text(10, 50));
    const auto found =
        find_logs({.paths = {path("site/results/alpha_8")}, .ruleset = "3.0.0", .staging_excluded = {}});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(bench::compute_units(found->runs[0]), 4) << "of the two nodes that the log names";
    EXPECT_EQ(bench::compute_units(found->runs[1]), 16);
}

TEST_F(AnalyzeCommand, scaling_is_the_folder_behind_that_of_the_system) {
    for (const char* name : {"weak/site/results/alpha_4/cosmoflow/result_0.txt",
                             "weak/site/results/alpha_4/strong/cosmoflow/result_0.txt",
                             "weak/site/results/weak/cosmoflow/result_0.txt", "weak/cosmoflow/result_0.txt"})
        write(name, log_text(10, 50));
    const auto found = find_logs({.paths = {path("weak")}, .ruleset = "3.0.0", .staging_excluded = {}});
    ASSERT_TRUE(found) << found.error().message();
    std::vector<std::string> scalings;
    for (const bench::RunInput& run : found->runs) scalings.push_back(run.scaling);
    EXPECT_THAT(scalings, ::testing::ElementsAre("", "", "strong", ""));
}

TEST_F(AnalyzeCommand, a_package_without_descriptions_is_read_by_its_logs) {
    fs::remove_all(path("site/systems"));
    const auto found = find_logs({.paths = {path()}, .ruleset = "3.0.0", .staging_excluded = {}});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->runs.front().system, "alpha_4");
    EXPECT_FALSE(found->runs.front().facts.nodes);
}

// Of 4 runs the fastest and the slowest do not count: 11 and 12 epochs of 100 s, and of 50 s.
TEST_F(AnalyzeCommand, says_what_the_systems_come_to) {
    const auto said = analyze({"--json"});
    ASSERT_EQ(said.status, 0) << said.err;
    const auto systems = core::parse_json(said.out).at("systems");
    ASSERT_EQ(systems.size(), 2U);
    const auto table = analyze({});
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("alpha_4"));
    EXPECT_THAT(table.out, HasSubstr("19.333")) << "minutes of 11.5 epochs of 100 s, and 10 s of staging";
    EXPECT_THAT(table.out, HasSubstr("0.0198")) << "the share of evaluation: 23 of 1160 s";
    EXPECT_THAT(table.out, HasSubstr("0.0393")) << "of 585 s";
}

TEST_F(AnalyzeCommand, predicts_another_scale) {
    const auto said = analyze({"--predict", "units=32,batch=64"});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_THAT(said.out, HasSubstr("predicted: cosmoflow alpha, 32 units, batch 64"));
}

TEST_F(AnalyzeCommand, writes_a_page_and_tables) {
    const auto said = analyze({"-o", path("page.html"), "--csv", path("figures")});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(said.out, path("page.html") + "\n" + path("figures") + "\n");
    const std::string page = core::read_file(path("page.html")).value();
    EXPECT_THAT(page, HasSubstr("alpha_8"));
    const std::string runs = core::read_file(path("figures/runs.csv")).value();
    EXPECT_EQ(std::ranges::count(runs, '\n'), 9) << "a heading and eight runs\n" << runs;
}

TEST_F(AnalyzeCommand, says_which_runs_do_not_count) {
    write("site/results/alpha_4/cosmoflow/result_4.txt", log_text(3, 100, "aborted"));
    const auto said = analyze({});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_THAT(said.out, HasSubstr("run_stop's status is not success"));
}

// As those of ABCI with 2,048 GPUs in round 0.7.
TEST_F(AnalyzeCommand, where_a_log_does_not_say_how_the_run_ended_its_results_do) {
    auto without_status = [](std::string text) {
        const std::string_view status = R"({"status": "success"})";
        return text.replace(text.rfind(status), status.size(), "{}");
    };
    write("site/results/alpha_8/cosmoflow/result_0.txt", without_status(log_text(10, 50)));
    std::string missed = without_status(log_text(10, 50));
    for (size_t at = 0; (at = missed.find("0.1,", at)) != missed.npos;) missed.replace(at, 3, "0.2");
    write("site/results/alpha_8/cosmoflow/result_1.txt", missed);
    const auto found =
        find_logs({.paths = {path("site/results/alpha_8")}, .ruleset = "3.0.0", .staging_excluded = {}});
    ASSERT_TRUE(found) << found.error().message();
    const bench::Run reached = bench::decompose(found->runs[0]), other = bench::decompose(found->runs[1]);
    EXPECT_TRUE(reached.success);
    EXPECT_EQ(reached.epochs, 10);
    EXPECT_FALSE(other.success);
    EXPECT_EQ(other.missing, "run_stop's status is not success");
}

TEST_F(AnalyzeCommand, refuses_what_it_cannot_read) {
    fs::create_directory(path("empty"));
    struct Row {
        std::vector<std::string> words;
        std::string message;
        int status = 2;
    };
    for (const Row& row :
         {Row{{path("nowhere")}, "nowhere is not there"}, Row{{path("empty")}, "no log was found"},
          Row{{path(), "--predict", "many"}, "many"},
          Row{{path(), "--adjust", "alpha_4"}, "--adjust alpha_4: it must be SYSTEM=FACTOR"},
          Row{{path(), "--adjust", "alpha_4=0"}, "with a factor above 0"},
          Row{{path(), "--roofline", path("nowhere")}, "nowhere", 3},
          Row{{path(), "-o", path("nowhere/page.html")}, "nowhere"}}) {
        std::vector<std::string> words = {"bench", "analyze"};
        words.insert(words.end(), row.words.begin(), row.words.end());
        const auto said = belay(words);
        EXPECT_EQ(said.status, row.status) << row.message << "\n" << said.err;
        EXPECT_THAT(said.err, HasSubstr(row.message));
    }
}

}  // namespace
}  // namespace belay::cli
