// One line of the summary: what a system reached in one benchmark, and what is wrong with the submission of it.
//
// judge() is a function of values: of what lies in a folder and of the verdict on each of its logs.
#pragma once

#include "bench/compliance/check.h"
#include "bench/summary/package.h"
#include "bench/summary/score.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct JudgeOptions {
    int round = 3;          // of the rules: 3 for 3.0.0
    bool official = false;  // --compat official: errors are those of the official tools, and no others
    std::optional<double> extrapolate_to;  // accelerators
};

struct SummaryRow {
    std::string submitter, system, benchmark;
    std::string mode;  // "time_to_train" or "throughput"; empty for a folder that is neither
    std::string division;
    std::string path;  // of the folder, from the root; empty for a row about a system or a package
    std::optional<double> score_minutes;
    std::string rcp = "na";  // "pass", "fail"; "na" in the open division
    std::string rcp_message;
    std::optional<double> scaling;           // factor in score_minutes; nothing for a throughput
    std::optional<double> scaling_to_write;  // what scaling.json should hold; nothing if there should be none
    std::optional<int64_t> models;           // M'
    std::optional<double> accelerators_per_model;  // S
    std::optional<double> accelerators;            // T
    int64_t logs = 0, failed_logs = 0, required_logs = 0;
    std::optional<double> batch, epochs, reference_epochs, smallest_epochs;
    std::optional<double> minutes_with_staging, minutes_without_staging;
    std::optional<double> models_per_day;
    std::optional<Extrapolation> extrapolation;
    std::vector<std::string> errors, warnings;
};

// `verdicts`: of folder.logs and then of folder.pruned_logs, in their order.
SummaryRow judge(const Package& package, const SystemFolder& system, const BenchmarkFolder& folder,
                 std::span<const LogVerdict> verdicts, const JudgeOptions& options);

// A row for what is wrong with a package or with a system, where no row of a benchmark can say it.
SummaryRow row_of_problems(const Package& package, const SystemFolder* system, const JudgeOptions& options);

// Looks at the rows of one package together: a throughput counts only beside a time to train of the same
// benchmark and division.
void judge_together(std::span<SummaryRow> rows, const JudgeOptions& options);

}  // namespace belay::bench
