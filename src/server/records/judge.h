// What `belay` says of a record: score, findings and report. It runs as a process of its own each time, so that a record that
// somebody has sent crashes that and not belayd.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "server/records/limited_program.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// In the directory of a job (record_store.h).
inline constexpr std::string_view kRecordName = "record";
inline constexpr std::string_view kScoreName = "score.json";        // belay score --json
inline constexpr std::string_view kFindingsName = "findings.json";  // belay findings --json
inline constexpr std::string_view kSummaryName = "summary.json";    // belay report --json
inline constexpr std::string_view kReportName = "report.html";      // belay report -o
inline constexpr std::string_view kJudgedName = "judged.json";      // Judged

// One of the runs.
struct JudgeRun {
    std::string what;                     // "seal", "score", "findings", "report"
    std::optional<std::string> why = {};  // it gave no answer, or not all of it; for people
    bool operator==(const JudgeRun&) const = default;
};

struct Judged {
    core::Time at;
    std::vector<JudgeRun> runs;

    // Whether there is an answer of each.
    bool is_whole() const;
    bool operator==(const Judged&) const = default;
};

std::string to_json(const Judged& judged);
// Errors: kBadInput for what to_json() would not write.
core::Result<Judged> judged_from_json(std::string_view json, std::string_view name);

// Judges the record in `entry`, a directory with an absolute path: makes the tables first that the others read (`belay record
// seal`), then score, findings and report. Each answer replaces the one before as a whole; what gives none leaves that as it was and
// says why. `belay`: the program. Errors: kSystem, where answers cannot be written.
core::Result<Judged> judge_record(const core::Directory& entry, const std::filesystem::path& belay,
                                  const ProgramLimits& limits, core::Time now);

}  // namespace belay::server
