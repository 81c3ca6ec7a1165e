#include "bench/compliance/check.h"

#include "bench/compliance/engine.h"
#include "bench/compliance/facts.h"
#include "bench/compliance/mllog_reader.h"
#include "bench/compliance/rules.h"

#include <fmt/format.h>

namespace belay::bench {

namespace {

std::vector<LogMessage> messages_of_lines(const LogLines& log) {
    std::vector<LogMessage> messages;
    for (const LogProblem& problem : log.problems) messages.push_back({problem.line, "", problem.text});
    if (const int64_t more = log.bad_lines - static_cast<int64_t>(log.problems.size()); more > 0)
        messages.push_back({0, "", fmt::format("{} more lines cannot be read", more)});
    return messages;
}

LogVerdict verdict_of(const RuleSet& rules, std::string_view file, const LogLines& log,
                      const CheckOptions& options, std::vector<RuleReport>* reports) {
    LogVerdict verdict{.file = std::string(file),
                       .ruleset = std::string(rules.name()),
                       .errors = messages_of_lines(log),
                       .facts = facts_of(log)};
    Engine engine(rules, options, log, reports);
    engine.run();
    verdict.errors.insert(verdict.errors.end(), engine.errors().begin(), engine.errors().end());
    verdict.warnings = engine.warnings();
    verdict.passed = verdict.errors.empty();
    return verdict;
}

// Round 3.0 lets staging come before the run, and does not say that it comes after the initialisation, as it is meant to
// (mlcommons/logging issue 318).
void note_staging_within_init(const LogLines& log, const RuleSet& rules, std::vector<LogMessage>& notes) {
    const int init_stop = rules.keys().find("init_stop");
    const LogEvent* staging = nullptr;
    for (const LogEvent& event : log.events) {
        if (static_cast<FactKey>(event.key) == FactKey::kStagingStart && staging == nullptr) staging = &event;
        if (event.key != init_stop) continue;
        if (staging != nullptr)
            notes.push_back(
                {staging->line, "staging_start",
                 "comes before init_stop; it is meant to follow it, which the official checker does "
                 "not ask for"});
        return;
    }
}

// What passes officially and still deserves a look.
std::vector<LogMessage> notes_of(const LogLines& log, const LogVerdict& verdict, const CheckOptions& options,
                                 const RuleSet& rules) {
    std::vector<LogMessage> notes;
    const LogEvent* stop = nullptr;
    const LogEvent* result = nullptr;
    int64_t behind = 0;
    for (const LogEvent& event : log.events) {
        const auto key = static_cast<FactKey>(event.key);
        if (stop != nullptr) ++behind;
        if (key == FactKey::kRunStop && stop == nullptr) stop = &event;
        if ((key == FactKey::kEvalError || key == FactKey::kEvalAccuracy) && stop == nullptr) result = &event;
    }
    if (stop != nullptr && !verdict.facts.success)
        notes.push_back(
            {stop->line, "run_stop",
             fmt::format("the run did not end with success (metadata {}); the official checker only "
                         "asks that there is a status",
                         shown(stop->metadata))});
    if (behind > 0)
        notes.push_back({stop->line, "run_stop",
                         fmt::format("{} events follow it; the official checker does not mind", behind)});
    note_staging_within_init(log, rules, notes);
    if (result == nullptr) return notes;
    for (const RuleSet::File* file : {rules.file("open_" + verdict.facts.benchmark)}) {
        if (file == nullptr) continue;
        for (const auto& [rule, key] : file->rules) {
            const double target = options.target.value_or(rule->any.number);
            const auto order = compare(result->value, target);
            if (key != result->key || !order) continue;
            const bool reached = rule->any.kind == TestKind::kErrorReached ? *order <= 0 : *order >= 0;
            if (!reached)
                notes.push_back(
                    {result->line, std::string(rule->key),
                     fmt::format("the last one before run_stop, {}, misses the target; the official "
                                 "checker is content if any one reached it",
                                 shown(result->value))});
        }
    }
    return notes;
}

}  // namespace

LogVerdict check_log(const RuleSet& rules, std::string_view file, std::string_view bytes,
                     const CheckOptions& options) {
    return verdict_of(rules, file, read_log(bytes, rules.keys()), options, nullptr);
}

ExplainedVerdict explain_log(const RuleSet& rules, std::string_view file, std::string_view bytes,
                             const CheckOptions& options) {
    const LogLines log = read_log(bytes, rules.keys());
    ExplainedVerdict explained;
    explained.verdict = verdict_of(rules, file, log, options, &explained.rules);
    explained.notes = notes_of(log, explained.verdict, options, rules);
    return explained;
}

}  // namespace belay::bench
