// Submission packages in a temporary directory, whose logs are lists of facts instead of MLLOG.
#pragma once

#include "bench/summary/summarize.h"
#include "bench/summary/system_description.h"
#include "core/file.h"
#include "core/text.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::bench {

// "fail minutes=3 epochs=20": what the verdict on such a log is.
inline LogVerdict verdict_of_facts(std::string_view file, std::string_view bytes) {
    LogVerdict verdict{.file = std::string(file), .passed = true};
    LogFacts& facts = verdict.facts;
    facts.success = true;
    facts.run_start = 1'000'000;
    for (std::string_view word : core::split_words(bytes)) {
        const size_t equals = word.find('=');
        const std::string_view key = word.substr(0, equals);
        const std::string value(equals == word.npos ? "" : word.substr(equals + 1));
        const auto number = core::parse_number<double>(value);
        if (key == "fail") {
            verdict.passed = false;
            verdict.errors.push_back({.line = 7, .key = "eval_error", .text = "is not at most 0.036"});
        }
        if (key == "aborted") facts.success = false;
        if (key == "benchmark") facts.benchmark = value;
        if (key == "division") facts.division = value;
        if (key == "org") facts.organisation = value;
        if (key == "status") facts.status = value;
        if (key == "seed") facts.seeds["train.py:7"] = {value};
        if (key == "minutes") facts.minutes = number;
        if (key == "epochs") facts.epochs = number;
        if (key == "batch") facts.global_batch_size = number;
        if (key == "nodes") facts.nodes = number;
        if (key == "accelerators") facts.accelerators_per_node = number;
        if (key == "start") facts.run_start = number.value() * 60;
        if (key == "staging") facts.staging_seconds = number.value() * 60;
        if (key == "staging_start") facts.staging_start = number.value() * 60;
    }
    if (facts.minutes) facts.run_stop = *facts.run_start + *facts.minutes * 60;
    return verdict;
}

// An organisation with one system; by default nothing is wrong with oc20 in the closed division.
class PackageOnDisk {
  public:
    PackageOnDisk() : directory_(core::TemporaryDirectory::create("summary_test").value()) {
        describe("machine");
        std::filesystem::create_directories(package() / "benchmarks/oc20");
    }
    std::filesystem::path root() const { return directory_.path(); }
    std::filesystem::path package() const { return root() / "Org"; }

    void write(const std::string& name, std::string_view text) {
        const auto path = package() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
    }
    nlohmann::ordered_json description() const {
        nlohmann::ordered_json system;
        const auto empty = parse_system_description("{}", "s.json").value();
        for (const std::string& field : empty.missing) system[field] = "";
        system["submitter"] = "Org";
        system["division"] = "closed";
        system["status"] = "onprem";
        system["number_of_nodes"] = "4";
        system["accelerators_per_node"] = "8";
        return system;
    }
    void describe(const std::string& system) { write("systems/" + system + ".json", description().dump()); }
    void describe(const std::string& system, const nlohmann::ordered_json& json) {
        write("systems/" + system + ".json", json.dump());
    }
    // Logs of oc20; log i lasts 10 + i minutes and has seed i.
    void add_logs(size_t count, std::string_view facts = "epochs=20 batch=256",
                  const std::string& folder = "results/machine/strong/oc20") {
        for (size_t at = 0; at < count; ++at)
            write(
                fmt::format("{}/result_{}.txt", folder, at),
                fmt::format(
                    "benchmark=oc20 division=closed org=Org status=onprem nodes=4 accelerators=8 minutes={} "
                    "seed={} {}",
                    10 + at, at, facts));
    }
    std::vector<SummaryRow> rows(SummarizeOptions options = {}) const {
        auto rows = summarize(package(), verdict_of_facts, options);
        if (rows) return *rows;
        ADD_FAILURE() << rows.error().message();
        return {};
    }
    SummaryRow only_row(SummarizeOptions options = {}) const {
        const std::vector<SummaryRow> all = rows(options);
        EXPECT_EQ(all.size(), 1u);
        return all.size() == 1 ? all.front() : SummaryRow{};
    }
    SummaryRow official_row() const { return only_row({.judge = {.official = true}}); }

  private:
    core::TemporaryDirectory directory_;
};

}  // namespace belay::bench
