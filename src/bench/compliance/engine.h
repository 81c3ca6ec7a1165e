// Applies the rules to the events of a log as the official checker does (mlcommons/logging 4.1.59,
// compliance_checker/mlp_compliance.py):
// - rule files form a queue that begins with "common"; rules put others at its end; each file is applied to all
//   events in order, with a state of its own;
// - every occurrence of a key is tested (of keys with "submission_" the first), and each test that fails or that
//   Python cannot evaluate leaves a message; of the messages of a key the last is kept;
// - a file's messages on the keys that a later file has rules for are dropped when that one begins; warnings and
//   messages without a key are kept.
#pragma once

#include "bench/compliance/check.h"
#include "bench/compliance/mllog_reader.h"
#include "bench/compliance/rules.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace belay::bench {

class Engine {
  public:
    // All must outlive the engine. `reports`: null where nobody asks.
    Engine(const RuleSet& rules, const CheckOptions& options, const LogLines& log,
           std::vector<RuleReport>* reports)
        : rules_(rules), options_(options), log_(log), reports_(reports) {}

    // Once.
    void run();
    const std::vector<LogMessage>& errors() const { return errors_; }
    const std::vector<LogMessage>& warnings() const { return warnings_; }

  private:
    // What a file found of one key.
    struct Seen {
        int64_t count = 0;
        const LogEvent* first = nullptr;
        const LogEvent* last = nullptr;
        bool all_same = true;
        bool any_reached = false, any_failed = false;  // the target; comparing with it
        std::vector<const PythonValue*> different;     // up to kShownValues
        std::vector<std::string> problems;             // for a report
        bool warned = false;
    };
    struct Pass {
        const RuleSet::File* file = nullptr;
        std::vector<Seen> seen;  // by rule
        std::array<bool, kLogStates> state{};
        double first_init_ms = 9e99;
    };
    // Whether the occurrence is as the test wants; nothing where Python raises.
    std::optional<bool> holds(const RuleTest& test, const LogEvent& event, const Pass& pass) const;
    void apply(const RuleSet::File& file);
    void take(Pass& pass, size_t rule, const LogEvent& event);
    void do_effect(Pass& pass, const Rule& rule, const LogEvent& event);
    void enqueue(const std::string& name, const Rule& rule, const LogEvent& event);
    void count(Pass& pass);
    void count_one(Pass& pass, size_t rule);
    void check_targets(Pass& pass);
    void check_pairs(Pass& pass);
    void report(const Pass& pass);

    void put_error(LogMessage message, Seen* seen);  // replaces the one of its key
    void put_lasting_error(LogMessage message, Seen* seen);
    void put_warning(LogMessage message, Seen* seen);  // an error with --werror
    void drop_errors_of(const RuleSet::File& file);

    const RuleSet& rules_;
    const CheckOptions& options_;
    const LogLines& log_;
    std::vector<RuleReport>* reports_;
    std::vector<const RuleSet::File*> queue_;
    std::vector<std::string> missing_files_;
    std::vector<LogMessage> errors_, warnings_;
    std::vector<bool> is_lasting_;  // of errors_
};

}  // namespace belay::bench
