#include "bench/compliance/rules.h"

#include "bench/compliance/facts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace belay::bench {

namespace {

constexpr std::string_view kRuleSetNames[] = {"1.0.0", "2.0.0", "3.0.0"};

RuleSet::File numbered(const RuleFile& file, Rounds round, KeySet& keys) {
    RuleSet::File made{.name = file.name};
    for (const Rule& rule : file.rules) {
        if ((rule.rounds & round) == 0) continue;
        const int key = keys.add(rule.key);
        const auto known = std::ranges::find(made.rules, key, &RuleSet::NumberedRule::key);
        if (known == made.rules.end())
            made.rules.push_back({&rule, key});
        else
            known->rule = &rule;
    }
    return made;
}

std::string quoted(std::string_view word) {
    return fmt::format("\"{}\"", word);
}

std::string words_of_one_of(const RuleTest& test) {
    std::vector<std::string> words;
    for (std::string_view word : test.words)
        if (!word.empty()) words.push_back(quoted(word));
    return fmt::format("one of {}", fmt::join(words, ", "));
}

std::string_view state_words(LogState state) {
    constexpr std::string_view kWords[kLogStates] = {"init_start", "init_stop", "run_start", "run_stop",
                                                     "staging_start"};
    return kWords[static_cast<size_t>(state)];
}

// Where a file of the benchmark's leads under a condition: its rule's effect, and what the value must be for it.
struct Branch {
    std::string file, when;
};

std::vector<Branch> branches(const RuleSet& rules, const Rule& rule) {
    std::vector<Branch> found;
    if (rule.effect.kind == EffectKind::kEnqueueIf)
        found.push_back(
            {std::string(rule.effect.prefix), fmt::format("{} is {}", rule.key, quoted(rule.effect.word))});
    if (rule.effect.kind == EffectKind::kEnqueueLower)
        for (std::string_view word : rule.tests[0].words)
            if (const std::string name = fmt::format("{}{}", rule.effect.prefix, word);
                !word.empty() && rules.file(name) != nullptr)
                found.push_back({name, fmt::format("{} is {}", rule.key, quoted(word))});
    return found;
}

}  // namespace

std::span<const std::string_view> rule_set_names() {
    return kRuleSetNames;
}

core::Result<RuleSet> RuleSet::named(std::string_view name) {
    const auto* found = std::ranges::find(kRuleSetNames, name);
    if (found == std::end(kRuleSetNames))
        return core::bad_input("there are no rules {}", name)
            .hint(fmt::format("the rounds of MLPerf HPC with rules are {}", fmt::join(kRuleSetNames, ", ")));
    const auto round = static_cast<Rounds>(1 << (found - std::begin(kRuleSetNames)));
    RuleSet made;
    made.name_ = *found;
    for (std::string_view key : fact_keys()) made.keys_.add(key);
    for (const RuleFile& file : all_rule_files())
        if ((file.rounds & round) != 0) made.files_.push_back(numbered(file, round, made.keys_));
    for (File& file : made.files_) {
        file.rule_of_key.assign(made.keys_.size(), File::kNone);
        for (size_t at = 0; at < file.rules.size(); ++at)
            file.rule_of_key[static_cast<size_t>(file.rules[at].key)] = static_cast<int16_t>(at);
    }
    return made;
}

const RuleSet::File* RuleSet::file(std::string_view name) const {
    const auto found = std::ranges::find(files_, name, &File::name);
    return found == files_.end() ? nullptr : &*found;
}

std::string test_words(const RuleTest& test, std::optional<double> target) {
    switch (test.kind) {
        case TestKind::kNone:
            return "";
        case TestKind::kNotEmpty:
            return "not an empty text";
        case TestKind::kOneOf:
            return words_of_one_of(test);
        case TestKind::kHasValue:
            return "any value";
        case TestKind::kMoreThan:
            return fmt::format("more than {}", test.number);
        case TestKind::kAtLeast:
            return fmt::format("at least {}", test.number);
        case TestKind::kAtMost:
            return fmt::format("at most {}", test.number);
        case TestKind::kFraction:
            return "at least 0 and less than 1";
        case TestKind::kEquals:
            return fmt::format("equal to {}", test.number);
        case TestKind::kEqualsWord:
            return quoted(test.word);
        case TestKind::kEqualsBool:
            return test.number != 0 ? "true" : "false";
        case TestKind::kTrue:
            return "true, or another value that is not 0 and not empty";
        case TestKind::kLength:
            return fmt::format("a list of length {}", test.number);
        case TestKind::kHasLength:
            return "a list";
        case TestKind::kCloseTo:
            return fmt::format("{} within a relative 1e-9", test.number);
        case TestKind::kAfter:
            return fmt::format("after {}", state_words(test.state));
        case TestKind::kNotAfter:
            return fmt::format("not after {}", state_words(test.state));
        case TestKind::kSoonAfterInit:
            return fmt::format("less than {:g} minutes after the first init_start", test.number / 60e3);
        case TestKind::kMetadataHas:
            return fmt::format("with {} in the metadata", test.word);
        case TestKind::kMetadataPositive:
            return fmt::format("with {} more than 0 in the metadata", test.word);
        case TestKind::kErrorReached:
            return fmt::format("more than 0 and at most {}", target.value_or(test.number));
        case TestKind::kAccuracyReached:
            return fmt::format("at least {} and at most 1", target.value_or(test.number));
        case TestKind::kSampleCount:
            return target ? "more than 0, as this is not the full data"
                          : fmt::format("equal to {}", test.number);
    }
    return "";
}

std::string count_words(const Rule& rule) {
    switch (rule.count) {
        case RuleCount::kOptional:
            return "optional";
        case RuleCount::kExactlyOne:
            return "exactly once";
        case RuleCount::kAtLeastOne:
            return "at least once";
        case RuleCount::kThisOrOther:
            return fmt::format("at least once, or {}", rule.other);
    }
    return "";
}

std::string rule_words(const Rule& rule, std::optional<double> target) {
    std::string words = count_words(rule);
    for (const RuleTest& test : rule.tests)
        if (test.kind != TestKind::kNone) words += "; " + test_words(test, target);
    if (rule.any.kind != TestKind::kNone) words += "; one of them " + test_words(rule.any, target);
    return words;
}

core::Result<std::vector<BenchmarkRule>> rules_of(const RuleSet& rules, std::string_view benchmark,
                                                  std::string_view division) {
    const std::string common = fmt::format("{}_common", division),
                      last = fmt::format("{}_{}", division, benchmark);
    if (rules.file(common) == nullptr)
        return core::bad_input("\"{}\" is not a division", division).hint("write closed or open");
    const Rule* names = rules.file(common)->rules.front().rule;  // of submission_benchmark
    if (benchmark.empty() ||
        std::ranges::find(names->tests[0].words, benchmark) == names->tests[0].words.end())
        return core::bad_input("\"{}\" is not a benchmark of HPC {}", benchmark, rules.name())
            .hint(fmt::format("write {}", words_of_one_of(names->tests[0])));
    std::vector<Branch> queue = {{"common", ""}, {common, ""}, {last, ""}};
    std::vector<BenchmarkRule> found;
    for (size_t at = 0; at < queue.size(); ++at) {
        const RuleSet::File& file = *rules.file(queue[at].file);
        for (const auto& [rule, key] : file.rules) {
            for (BenchmarkRule& earlier : found)
                if (earlier.rule->key == rule->key && queue[at].when.empty()) earlier.is_replaced = true;
            found.push_back({file.name, rule, queue[at].when});
            for (Branch& branch : branches(rules, *rule)) queue.push_back(std::move(branch));
        }
    }
    return found;
}

bool reaches_target(const RuleSet& rules, std::string_view benchmark, double result) {
    const auto rows = rules_of(rules, benchmark, "open");  // in all divisions the same
    if (!rows) return false;
    return std::ranges::any_of(*rows, [&](const BenchmarkRule& row) {
        const RuleTest& target = row.rule->any;
        return (target.kind == TestKind::kErrorReached && result > 0 && result <= target.number) ||
               (target.kind == TestKind::kAccuracyReached && result >= target.number && result <= 1);
    });
}

}  // namespace belay::bench
