// The rules of one round, with their keys numbered, so that a log is checked by array look-ups.
#pragma once

#include "bench/compliance/key_set.h"
#include "bench/compliance/rule.h"
#include "core/error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

class RuleSet {
  public:
    struct NumberedRule {
        const Rule* rule = nullptr;
        int key = 0;
    };
    struct File {
        static constexpr int16_t kNone = -1;
        std::string_view name;
        std::vector<NumberedRule> rules;   // of a key listed twice the last one, as in the official checker
        std::vector<int16_t> rule_of_key;  // kNone where the file has none
    };

    // "1.0.0", "2.0.0", "3.0.0". Errors: kBadInput for another one.
    static core::Result<RuleSet> named(std::string_view name);

    std::string_view name() const { return name_; }
    // Of all files, and of what the facts of a log are made of (facts.h).
    const KeySet& keys() const { return keys_; }
    // Where a check begins.
    const File& first() const { return files_.front(); }
    // Null where the round has no such file: an unknown division, benchmark or scheduler.
    const File* file(std::string_view name) const;

  private:
    std::string_view name_;
    KeySet keys_;
    std::vector<File> files_;
};

// The rounds whose rules there are, the newest last.
std::span<const std::string_view> rule_set_names();

// Asks in words, for messages and pages: "more than 0", "one of \"sgd\", \"SGD\"". `target`: instead of the one in
// the table.
std::string test_words(const RuleTest& test, std::optional<double> target = {});
// "exactly once", "at least once", "at least once, or block_start", "optional".
std::string count_words(const Rule& rule);
// All of a rule on one line: "exactly once; more than 0".
std::string rule_words(const Rule& rule, std::optional<double> target = {});

// A rule that holds for a benchmark in a division, for people who want to know what they may set.
struct BenchmarkRule {
    std::string_view file;
    const Rule* rule = nullptr;
    std::string when;          // "" or "opt_name is \"LAMB\"": the file is only used then
    bool is_replaced = false;  // a later file has a rule for the same key, which alone decides
};

// In the order in which the files are used. Errors: kBadInput for a benchmark or division that the round does not
// have.
core::Result<std::vector<BenchmarkRule>> rules_of(const RuleSet& rules, std::string_view benchmark,
                                                  std::string_view division);

// Whether a result is as good as a benchmark of the round wants; not, where the round has no such benchmark.
bool reaches_target(const RuleSet& rules, std::string_view benchmark, double result);

}  // namespace belay::bench
