#include "cli/bench_logs.h"

#include "bench/compliance/check.h"
#include "bench/compliance/rules.h"
#include "bench/summary/package.h"
#include "bench/summary/system_description.h"
#include "core/directory.h"
#include "core/parallel.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace belay::cli {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr size_t kMostLogs = 100'000;

bool looks_like_log(const fs::path& path) {
    const std::string name = path.filename().string();
    const std::string extension = path.extension().string();
    return (name.starts_with("result_") && extension == ".txt") || extension == ".log" ||
           extension == ".mllog";
}

Result<> add_directory(const fs::path& directory, std::vector<fs::path>& logs) {
    std::error_code error;
    fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
    while (!error && entry != fs::recursive_directory_iterator()) {
        std::error_code ignored;
        if (fs::is_regular_file(entry->symlink_status(ignored)) && looks_like_log(entry->path()))
            logs.push_back(entry->path());
        if (logs.size() > kMostLogs)
            return core::bad_input("{} holds more than {} logs", directory.string(), kMostLogs)
                .hint("give parts of it");
        entry.increment(error);
    }
    if (error) return core::errno_error(error, fmt::format("cannot list {}", directory.string()));
    return {};
}

Result<std::vector<fs::path>> list_logs(const std::vector<std::string>& paths) {
    std::vector<fs::path> logs;
    for (const std::string& path : paths) {
        std::error_code error;
        const auto status = fs::status(path, error);
        if (!fs::exists(status))
            return core::bad_input("{} is not there", path).hint("give a log, or a directory with logs");
        if (fs::is_directory(status))
            BELAY_CHECK(add_directory(path, logs));
        else
            logs.emplace_back(path);
    }
    std::ranges::sort(logs);
    const auto same = std::ranges::unique(logs);
    logs.erase(same.begin(), same.end());
    if (logs.empty())
        return core::bad_input("no log was found")
            .hint("logs in directories are named result_*.txt, *.log or *.mllog; name others one by one");
    return logs;
}

// Where a log lies in a package: ORGANISATION/results/SYSTEM/[strong|weak/]BENCHMARK/result_0.txt.
struct Place {
    std::string system, submitter, scaling;
    fs::path description;
};

Place place_of(const fs::path& log) {
    Place place;
    fs::path above;
    const std::vector<fs::path> parts(log.begin(), log.end());
    for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] == "results" && i + 2 < parts.size()) {
            place.system = parts[i + 1].string();
            place.submitter = i > 0 ? parts[i - 1].string() : "";
            const bool is_scaling =
                i + 3 < parts.size() && (parts[i + 2] == "strong" || parts[i + 2] == "weak");
            place.scaling = is_scaling ? parts[i + 2].string() : "";
            place.description = above / "systems" / (place.system + ".json");
        }
        above /= parts[i];
    }
    return place;
}

using Descriptions = std::map<std::string, std::optional<bench::SystemDescription>>;

Descriptions read_descriptions(const std::vector<Place>& places) {
    Descriptions descriptions;
    for (const Place& place : places) {
        const std::string file = place.description.string();
        if (file.empty() || descriptions.contains(file)) continue;
        auto& description = descriptions[file];
        // As the logs: no link leads out of a package, and nothing is waited for.
        const auto directory = core::Directory::open(place.description.parent_path());
        if (!directory) continue;
        const auto text =
            directory->read_file(place.description.filename().string(), bench::kMostSystemBytes);
        if (!text) continue;
        auto parsed = bench::parse_system_description(*text, file);
        if (parsed) description = std::move(*parsed);
    }
    return descriptions;
}

void describe(bench::RunInput& run, const bench::SystemDescription& description) {
    run.nodes = description.nodes;
    if (!run.facts.nodes) run.facts.nodes = description.nodes;
    // Of the log's nodes: an instance of weak scaling has a part of them.
    if (const auto each = description.units_per_node(); each && run.facts.nodes)
        run.units = *run.facts.nodes * *each;
    if (!run.facts.accelerators_per_node) run.facts.accelerators_per_node = description.accelerators_per_node;
    // Early logs leave it to the description, and some of them differ.
    if (!description.division.empty()) run.facts.division = description.division;
    std::ranges::transform(run.facts.division, run.facts.division.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
}

}  // namespace

Result<FoundLogs> find_logs(const LogSearch& search) {
    BELAY_TRY(logs, list_logs(search.paths));
    BELAY_TRY(rules, bench::RuleSet::named(search.ruleset));
    std::vector<Place> places;
    for (const fs::path& log : logs) places.push_back(place_of(log));
    const Descriptions descriptions = read_descriptions(places);
    std::vector<bench::RunInput> runs(logs.size());
    std::vector<std::string> problems(logs.size());
    BELAY_CHECK(core::in_parallel(logs.size(), search.threads, [&](size_t i) -> Result<> {
        const std::string file = logs[i].string();
        const auto bytes = core::read_file(file, bench::kMostLogBytes);
        if (!bytes) {
            problems[i] = bytes.error().message();
            return {};
        }
        bench::RunInput& run = runs[i];
        run.file = file;
        run.facts = bench::check_log(rules, file, *bytes, {.quiet = true}).facts;
        run.reached_target =
            run.facts.last_result && reaches_target(rules, run.facts.benchmark, *run.facts.last_result);
        run.epochs = bench::read_epochs(*bytes);
        if (!run.epochs.empty()) run.first_epoch = run.epochs.front().number;
        run.system = places[i].system;
        run.submitter = places[i].submitter;
        run.scaling = places[i].scaling;
        const auto found = descriptions.find(places[i].description.string());
        if (found != descriptions.end() && found->second) describe(run, *found->second);
        run.staging_moves_data =
            std::ranges::find(search.staging_excluded, run.system) == search.staging_excluded.end();
        if (!run.facts.run_start && run.facts.benchmark.empty())
            problems[i] = file + ": is not a log of a run";
        return {};
    }));
    FoundLogs found;
    for (size_t i = 0; i < runs.size(); ++i)
        if (problems[i].empty())
            found.runs.push_back(std::move(runs[i]));
        else
            found.left_out.push_back(std::move(problems[i]));
    return found;
}

}  // namespace belay::cli
