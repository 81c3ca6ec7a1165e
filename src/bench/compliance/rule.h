// The rules of MLPerf HPC as data. A rule file is what the official checker has one YAML file for; a rule is what
// it asks of one key. The rows are in rule_tables.cpp, what they mean is in rules.cpp (for people) and engine.cpp
// (for logs).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace belay::bench {

// REQ of the official files.
enum class RuleCount : uint8_t {
    kOptional,
    kExactlyOne,  // several of the same value: a warning only
    kAtLeastOne,
    kThisOrOther,  // AT_LEAST_ONE_OR(other)
};

// What a file has seen so far ("s" of the official files); each file begins without any.
enum class LogState : uint8_t { kInitStarted, kInitStopped, kRunStarted, kRunStopped, kStagingStarted };
inline constexpr size_t kLogStates = 5;

enum class TestKind : uint8_t {
    kNone,
    kNotEmpty,          // value != ''
    kOneOf,             // value in [words]
    kHasValue,          // 'value' in the line
    kMoreThan,          // value > number
    kAtLeast,           // value >= number
    kAtMost,            // value <= number
    kFraction,          // 0 <= value < 1
    kEquals,            // value == number
    kEqualsWord,        // value == word
    kEqualsBool,        // value == True or False, which 1 and 0 equal
    kTrue,              // value
    kLength,            // len(value) == number
    kHasLength,         // len(value) >= 0
    kCloseTo,           // math.isclose(value, number)
    kAfter,             // the state is there
    kNotAfter,          // the state is not there
    kSoonAfterInit,     // less than `number` ms after the first init_start
    kMetadataHas,       // word in metadata
    kMetadataPositive,  // metadata[word] > 0
    kErrorReached,      // 0 < value <= number, the target
    kAccuracyReached,   // number <= value <= 1
    kSampleCount,  // value == number, of the full data; with a target of a mini profile, any number above 0
};

struct RuleTest {
    TestKind kind = TestKind::kNone;
    double number = 0;
    std::string_view word;
    std::array<std::string_view, 4> words{};  // the rest are empty
    LogState state{};
};

// POST: done whether or not the tests pass.
enum class EffectKind : uint8_t {
    kNone,
    kSet,           // the state
    kEnqueue,       // the file prefix + value + suffix
    kEnqueueLower,  // the same of the value in small letters
    kEnqueueIf,     // the file `prefix`, if the value is `word`
};

struct RuleEffect {
    EffectKind kind = EffectKind::kNone;
    LogState state{};
    std::string_view prefix, suffix, word;
};

// Rounds of MLPerf HPC as bits: 1.0, 2.0, 3.0.
using Rounds = uint8_t;
inline constexpr Rounds kRound1 = 1, kRound2 = 2, kRound3 = 4, kAllRounds = 7;

struct Rule {
    std::string_view key;
    RuleCount count = RuleCount::kExactlyOne;
    std::array<RuleTest, 4> tests{};  // all of each occurrence (of submission_... only the first)
    RuleEffect effect{};
    RuleTest any{};            // of at least one occurrence
    std::string_view other{};  // of kThisOrOther
    Rounds rounds = kAllRounds;
};

struct RuleFile {
    std::string_view name;
    std::span<const Rule> rules;
    Rounds rounds = kAllRounds;
};

// The first is the one with which a check begins.
std::span<const RuleFile> all_rule_files();

}  // namespace belay::bench
