// The verdict on one MLLOG file, as the official compliance checker (mlcommons/logging, compliance_checker 4.1.59) gives it.
//
//   auto rules = RuleSet::named("3.0.0").value();
//   LogVerdict verdict = check_log(rules, "result_0.txt", read_file("result_0.txt").value(), {});
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

class RuleSet;

// A larger file is not a log: the largest published one has 1.3 MB, and a week of lines each second is below this. Logs are
// checked by as many threads as there are CPUs, each of which holds a whole one: more would be the memory of a node.
inline constexpr size_t kMostLogBytes = size_t{256} << 20;

struct CheckOptions {
    std::optional<double> target;  // instead of the benchmark's, for runs of a mini profile
    bool warnings_are_errors = false;
    bool quiet = false;  // no warnings of identical repeated values
};

// A message of the checker: where (line among those that hold the token, from 1; 0: of the whole log) and which rule
// (key; empty where it is none's).
struct LogMessage {
    int64_t line = 0;
    std::string key, text;
};

// As it was logged.
struct LoggedSeed {
    std::string value;
    bool is_text = false;  // "7", and not 7
    bool operator==(const LoggedSeed&) const = default;
};

// What runs of a system are compared by. Times in seconds; unknown is nothing.
struct LogFacts {
    std::string benchmark, division, organisation, platform, status;
    std::optional<double> run_start, run_stop;  // since 1970
    std::optional<double> minutes;              // run_start to run_stop
    std::optional<double> staging_start;        // since 1970: rules 3.0 let it come before run_start
    std::optional<double> staging_seconds, evaluation_seconds, epochs_seconds;
    std::optional<double> epochs;  // epoch_num of the last evaluation before run_stop, if the run had success
    int64_t evaluations = 0;
    std::optional<double> global_batch_size, train_samples, eval_samples, nodes, accelerators_per_node;
    std::optional<double> ranks, model_parameters;
    std::optional<double> samples_per_second;
    // By tracked_stats, means over its steps.
    std::optional<double> step_seconds, data_wait_seconds_per_step, exposed_communication_seconds_per_step;
    std::optional<double> flops_per_sample, memory_bytes_per_sample;
    std::optional<double> last_epoch, last_result;         // of that evaluation, whatever run_stop says
    bool success = false;                                  // run_stop's status
    bool has_status = false;                               // run_stop has one: some logs of round 0.7 do not
    std::map<std::string, LoggedSeed, std::less<>> seeds;  // by "FILE:LINE" of the metadata
};

struct LogVerdict {
    std::string file, ruleset;
    bool passed = false;
    std::vector<LogMessage> errors, warnings;
    LogFacts facts;
};

// Never fails: what cannot be parsed is an error of the verdict. `bytes` need not be UTF-8. Where the official
// checker crashes (a file of rules that does not exist, a target compared with a text, a line without a field), the
// log fails with words. May be called from many threads at once.
LogVerdict check_log(const RuleSet& rules, std::string_view file, std::string_view bytes,
                     const CheckOptions& options);

// What one rule asked and what was there.
struct RuleReport {
    enum class Status : uint8_t { kPass, kWarning, kFail };
    std::string file, key;  // of rules: "closed_oc20"
    std::string asks;       // "exactly once; more than 0"
    Status status = Status::kPass;
    bool decides = true;  // false where a later file has a rule for the same key, which alone counts
    int64_t seen = 0;
    int64_t first_line = 0, last_line = 0;  // 0 where it was not seen
    std::vector<std::string> values;        // different ones, the first few
    std::vector<std::string> problems;
};

struct ExplainedVerdict {
    LogVerdict verdict;
    std::vector<RuleReport> rules;  // in the order in which they were used
    // What the official checker lets pass although a reader might take it for wrong.
    std::vector<LogMessage> notes;
};

// The same verdict, with how it came about.
ExplainedVerdict explain_log(const RuleSet& rules, std::string_view file, std::string_view bytes,
                             const CheckOptions& options);

}  // namespace belay::bench
