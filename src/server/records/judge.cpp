#include "server/records/judge.h"

#include "core/json.h"
#include "core/new_file.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::server {

using core::Directory;
using core::Result;

namespace {

constexpr std::string_view kRecordWord = "RECORD", kReportWord = "REPORT";  // stand for paths

// A run of `belay`. What it prints is kept as `file`, if that has a name.
struct PlannedRun {
    std::string_view what;
    std::array<std::string_view, 6> words;
    std::string_view file;
    // Exit statuses other than 0 that come with an answer: findings has 1 where something was found, and 2 and 3 where a part could
    // not be looked at.
    int answers_to = 0;
    int whole_to = 0;  // of these, the last that is about the record and not about the run
};

constexpr PlannedRun kRuns[] = {
    {.what = "seal", .words = {"record", "seal", "--json", kRecordWord}, .file = ""},
    {.what = "score", .words = {"score", "--json", kRecordWord}, .file = kScoreName},
    {.what = "findings",
     .words = {"findings", "--json", kRecordWord},
     .file = kFindingsName,
     .answers_to = 3,
     .whole_to = 1},
    {.what = "report", .words = {"report", "--json", "-o", kReportWord, kRecordWord}, .file = kSummaryName},
};

std::vector<std::string> command_of(const PlannedRun& run, const Directory& entry,
                                    const std::filesystem::path& belay) {
    std::vector<std::string> command{belay.string()};
    for (std::string_view word : run.words) {
        if (word.empty()) continue;
        if (word == kRecordWord)
            command.push_back(entry.path_of(kRecordName).string());
        else if (word == kReportWord)
            command.push_back(entry.path_of(kReportName).string());
        else
            command.emplace_back(word);
    }
    return command;
}

// How a run ended that should have ended otherwise, with the last that it said.
std::string ending_of(const core::Output& output) {
    constexpr size_t kMostShown = 500;
    const std::string_view said = core::trim(output.err);
    const std::string_view line = said.substr(said.rfind('\n') + 1);  // all of it where there is one
    std::string text = output.status.describe();
    if (!line.empty()) text += fmt::format(": {}", core::printable(core::utf8_prefix(line, kMostShown)));
    return text;
}

Result<> keep(const Directory& entry, std::string_view name, std::string_view text) {
    BELAY_TRY(file, core::NewFile::begin(entry, name));
    BELAY_CHECK(core::write_all(file.fd(), text, file.path().string()));
    return std::move(file).replace();
}

// Why an answer is missing, or a part of it. Errors: where the answer cannot be kept.
Result<std::optional<std::string>> judge_by(const PlannedRun& run, const Directory& entry,
                                            const std::filesystem::path& belay, const ProgramLimits& limits) {
    const auto output = run_limited(command_of(run, entry, belay), limits);
    if (!output) return core::in_one_line(output.error());
    const core::ExitStatus& status = output->status;
    if (status.signal != 0 || status.code > run.answers_to) return ending_of(*output);
    std::optional<std::string> why;
    if (status.code > run.whole_to) why = ending_of(*output);
    const bool is_json = !core::parse_json(output->out).is_discarded();
    if (!is_json) return why.value_or("it printed no JSON");
    if (!run.file.empty()) BELAY_CHECK(keep(entry, run.file, output->out));
    return why;
}

}  // namespace

bool Judged::is_whole() const {
    return std::ranges::none_of(runs, [](const JudgeRun& run) { return run.why.has_value(); });
}

std::string to_json(const Judged& judged) {
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const JudgeRun& run : judged.runs)
        runs.push_back({{"what", run.what},
                        {"why", run.why ? nlohmann::ordered_json(*run.why) : nlohmann::ordered_json()}});
    const nlohmann::ordered_json all{
        {"at", core::format_time(judged.at)}, {"whole", judged.is_whole()}, {"runs", std::move(runs)}};
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Judged> judged_from_json(std::string_view json, std::string_view name) {
    BELAY_TRY(all, core::parse_json_file(json, name));
    const auto wrong = [&](std::string_view key) {
        return core::bad_input("{}: \"{}\" is missing or wrong", name, key);
    };
    if (!all.is_object() || !all.contains("at") || !all["at"].is_string()) return wrong("at");
    BELAY_TRY(at, core::parse_time(all["at"].get<std::string>()));
    Judged judged{.at = at, .runs = {}};
    if (!all.contains("runs") || !all["runs"].is_array()) return wrong("runs");
    for (const auto& run : all["runs"]) {
        const bool is_run = run.is_object() && run.contains("what") && run["what"].is_string() &&
                            run.contains("why") && (run["why"].is_null() || run["why"].is_string());
        if (!is_run) return wrong("runs");
        judged.runs.push_back({.what = run["what"].get<std::string>()});
        if (run["why"].is_string()) judged.runs.back().why = run["why"].get<std::string>();
    }
    return judged;
}

Result<Judged> judge_record(const Directory& entry, const std::filesystem::path& belay,
                            const ProgramLimits& limits, core::Time now) {
    // What is told has microseconds.
    Judged judged{.at = core::time_from_microseconds(core::to_microseconds(now)), .runs = {}};
    for (const PlannedRun& run : kRuns) {
        BELAY_TRY(why, judge_by(run, entry, belay, limits));
        judged.runs.push_back({.what = std::string(run.what), .why = std::move(why)});
    }
    BELAY_CHECK(keep(entry, kJudgedName, to_json(judged)));
    return judged;
}

}  // namespace belay::server
