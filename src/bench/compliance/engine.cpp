#include "bench/compliance/engine.h"

#include "bench/compliance/facts.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace belay::bench {

namespace {

constexpr size_t kShownValues = 4;
// A hostile log may name a million files of rules; none of them exists.
constexpr size_t kMostMissingFiles = 10;

std::optional<bool> is_order(const PythonValue& value, double constant,
                             bool (*wanted)(std::partial_ordering)) {
    const auto order = compare(value, constant);
    return order ? std::optional(wanted(*order)) : std::nullopt;
}
bool is_more(std::partial_ordering order) {
    return order > 0;
}
bool is_not_less(std::partial_ordering order) {
    return order >= 0;
}
bool is_not_more(std::partial_ordering order) {
    return order <= 0;
}

// Where Python raises in `left and right` depends on both.
std::optional<bool> both(const std::optional<bool>& left, const std::optional<bool>& right) {
    if (left && !*left) return false;
    return left && right ? std::optional(*left && *right) : std::nullopt;
}

// str.format() of the value.
std::string formatted(const PythonValue& value) {
    return value.is_text() ? std::string(value.text()) : shown(value);
}

std::string lower(std::string text) {
    for (char& byte : text)
        if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
    return text;
}

// "is 0.5, must be more than 1": a test of the value. Others say what is asked, and that it is not so.
std::string failure_words(const RuleTest& test, std::optional<double> target, const LogEvent& event) {
    const std::string asks = test_words(test, target);
    switch (test.kind) {
        case TestKind::kAfter:
        case TestKind::kNotAfter:
        case TestKind::kSoonAfterInit:
            return fmt::format("must come {}", asks);
        case TestKind::kMetadataHas:
        case TestKind::kMetadataPositive:
            return fmt::format("must come {}; the metadata are {}", asks, shown(event.metadata));
        case TestKind::kTrue:
            return fmt::format("is {}, must be true", shown(event.value));
        default:
            return fmt::format("is {}, must be {}", shown(event.value), asks);
    }
}

}  // namespace

std::optional<bool> Engine::holds(const RuleTest& test, const LogEvent& event, const Pass& pass) const {
    const PythonValue& value = event.value;
    const double target = options_.target.value_or(test.number);
    switch (test.kind) {
        case TestKind::kNone:
        case TestKind::kHasValue:
            return true;
        case TestKind::kNotEmpty:
            return !equals(value, "");
        case TestKind::kOneOf:
            return std::ranges::any_of(
                test.words, [&](std::string_view word) { return !word.empty() && equals(value, word); });
        case TestKind::kMoreThan:
            return is_order(value, test.number, is_more);
        case TestKind::kAtLeast:
            return is_order(value, test.number, is_not_less);
        case TestKind::kAtMost:
            return is_order(value, test.number, is_not_more);
        case TestKind::kFraction:
            return both(is_order(value, 0, is_not_less),
                        is_order(value, 1, [](std::partial_ordering order) { return order < 0; }));
        case TestKind::kEquals:
        case TestKind::kEqualsBool:
            return equals(value, test.number);
        case TestKind::kEqualsWord:
            return equals(value, test.word);
        case TestKind::kTrue:
            return is_true(value);
        case TestKind::kLength: {
            const auto size = length(value);
            return size ? std::optional(*size == static_cast<size_t>(test.number)) : std::nullopt;
        }
        case TestKind::kHasLength:
            return length(value) ? std::optional(true) : std::nullopt;
        case TestKind::kCloseTo:
            return is_close(value, test.number);
        case TestKind::kAfter:
            return pass.state[static_cast<size_t>(test.state)];
        case TestKind::kNotAfter:
            return !pass.state[static_cast<size_t>(test.state)];
        case TestKind::kSoonAfterInit:
            return event.time_ms - pass.first_init_ms < test.number;
        case TestKind::kMetadataHas:
            return contains(event.metadata, test.word);
        case TestKind::kMetadataPositive: {
            const PythonValue* member = event.metadata.member(test.word);
            return member != nullptr ? is_order(*member, test.number, is_more) : std::nullopt;
        }
        case TestKind::kErrorReached:
            return both(is_order(value, target, is_not_more), is_order(value, 0, is_more));
        case TestKind::kAccuracyReached:
            return both(is_order(value, target, is_not_less), is_order(value, 1, is_not_more));
        case TestKind::kSampleCount:
            return options_.target ? is_order(value, 0, is_more) : equals(value, test.number);
    }
    return std::nullopt;
}

void Engine::run() {
    if (log_.parsed_lines == 0)
        put_lasting_error({.text = "no line of it is MLLOG (\":::MLLOG {...}\")"}, nullptr);
    queue_.push_back(&rules_.first());
    for (size_t at = 0; at < queue_.size(); ++at) apply(*queue_[at]);
    if (reports_ == nullptr) return;
    for (RuleReport& earlier : *reports_)
        earlier.decides = std::none_of(&earlier + 1, reports_->data() + reports_->size(),
                                       [&](const RuleReport& later) { return later.key == earlier.key; });
}

void Engine::apply(const RuleSet::File& file) {
    drop_errors_of(file);
    Pass pass{.file = &file, .seen = std::vector<Seen>(file.rules.size())};
    for (const LogEvent& event : log_.events)
        if (const int16_t rule = file.rule_of_key[static_cast<size_t>(event.key)];
            rule != RuleSet::File::kNone)
            take(pass, static_cast<size_t>(rule), event);
    check_targets(pass);
    count(pass);
    if (reports_ != nullptr) report(pass);
}

void Engine::take(Pass& pass, size_t number, const LogEvent& event) {
    const Rule& rule = *pass.file->rules[number].rule;
    Seen& seen = pass.seen[number];
    const bool is_first = seen.count++ == 0;
    if (is_first) seen.first = &event;
    seen.last = &event;
    if (!same(event.value, seen.first->value)) seen.all_same = false;
    if (seen.different.size() < kShownValues &&
        std::ranges::none_of(seen.different,
                             [&](const PythonValue* known) { return same(*known, event.value); }))
        seen.different.push_back(&event.value);
    if (is_first || !rule.key.contains("submission_")) {
        for (const RuleTest& test : rule.tests) {
            if (test.kind == TestKind::kNone) break;
            if (!holds(test, event, pass).value_or(false))
                put_error({event.line, std::string(rule.key), failure_words(test, options_.target, event)},
                          &seen);
        }
        do_effect(pass, rule, event);
    }
    if (rule.any.kind == TestKind::kNone) return;
    const auto reached = holds(rule.any, event, pass);
    if (reached)
        seen.any_reached |= *reached;
    else if (!std::exchange(seen.any_failed, true))
        put_lasting_error(
            {event.line, std::string(rule.key),
             fmt::format("is {}, which cannot be compared with the target", shown(event.value))},
            &seen);
}

void Engine::do_effect(Pass& pass, const Rule& rule, const LogEvent& event) {
    const RuleEffect& effect = rule.effect;
    switch (effect.kind) {
        case EffectKind::kNone:
            return;
        case EffectKind::kSet:
            pass.state[static_cast<size_t>(effect.state)] = true;
            // As min() does, also with NaN.
            if (effect.state == LogState::kInitStarted && event.time_ms < pass.first_init_ms)
                pass.first_init_ms = event.time_ms;
            return;
        case EffectKind::kEnqueueIf:
            if (equals(event.value, effect.word)) enqueue(std::string(effect.prefix), rule, event);
            return;
        case EffectKind::kEnqueue:
            return enqueue(fmt::format("{}{}{}", effect.prefix, formatted(event.value), effect.suffix), rule,
                           event);
        case EffectKind::
            kEnqueueLower:  // raises where the value is not a text; then the test has failed as well
            if (event.value.is_text())
                enqueue(fmt::format("{}{}", effect.prefix, lower(formatted(event.value))), rule, event);
            return;
    }
}

// A file that was used already would find the same again: the official checker does all its work a second time, and
// where a file names itself (submission_benchmark "common"), it never ends.
void Engine::enqueue(const std::string& name, const Rule& rule, const LogEvent& event) {
    const RuleSet::File* file = rules_.file(name);
    if (file == nullptr) {
        if (missing_files_.size() == kMostMissingFiles ||
            std::ranges::find(missing_files_, name) != missing_files_.end())
            return;
        missing_files_.push_back(name);
        put_lasting_error(
            {event.line, std::string(rule.key),
             fmt::format("no rules for {}: HPC {} has none", shown(event.value), rules_.name())},
            nullptr);
    } else if (std::ranges::find(queue_, file) == queue_.end()) {
        queue_.push_back(file);
    }
}

void Engine::check_targets(Pass& pass) {
    for (size_t at = 0; at < pass.seen.size(); ++at) {
        const Rule& rule = *pass.file->rules[at].rule;
        Seen& seen = pass.seen[at];
        if (rule.any.kind == TestKind::kNone || seen.count == 0 || seen.any_reached || seen.any_failed)
            continue;
        const std::string wanted = test_words(rule.any, options_.target), last = shown(seen.last->value);
        put_lasting_error({seen.last->line, std::string(rule.key),
                           "never reached the target: " +
                               (seen.count == 1 ? fmt::format("its one value, {}, is not {}", last, wanted)
                                                : fmt::format("none of {} values is {}; the last is {}",
                                                              seen.count, wanted, last))},
                          &seen);
    }
}

void Engine::count(Pass& pass) {
    for (size_t at = 0; at < pass.seen.size(); ++at) count_one(pass, at);
    check_pairs(pass);
}

void Engine::count_one(Pass& pass, size_t number) {
    const Rule& rule = *pass.file->rules[number].rule;
    Seen& seen = pass.seen[number];
    if (rule.count == RuleCount::kAtLeastOne && seen.count == 0)
        return put_error({0, std::string(rule.key), "is missing: required at least once"}, &seen);
    if (rule.count != RuleCount::kExactlyOne || seen.count == 1) return;
    if (seen.count == 0)
        return put_error({0, std::string(rule.key), "is missing: required exactly once"}, &seen);
    if (seen.all_same)
        return put_warning({seen.last->line, std::string(rule.key),
                            fmt::format("required exactly once, but found {} times, always as {}", seen.count,
                                        shown(seen.first->value))},
                           &seen);
    std::vector<std::string> values;
    for (const PythonValue* value : seen.different) values.push_back(shown(*value));
    if (values.size() == kShownValues) values.back() = "...";
    put_error({seen.last->line, std::string(rule.key),
               fmt::format("required exactly once, but found {} times with different values: {}", seen.count,
                           fmt::join(values, ", "))},
              &seen);
}

// Pairs of which one must be there; each once, whichever of the two has the rule.
void Engine::check_pairs(Pass& pass) {
    std::set<std::pair<std::string_view, std::string_view>> done;
    const auto is_seen = [&](std::string_view key) {
        const int16_t rule = pass.file->rule_of_key[static_cast<size_t>(rules_.keys().find(key))];
        return rule != RuleSet::File::kNone && pass.seen[static_cast<size_t>(rule)].count > 0;
    };
    for (size_t at = 0; at < pass.seen.size(); ++at) {
        const Rule& rule = *pass.file->rules[at].rule;
        if (rule.count != RuleCount::kThisOrOther) continue;
        if (!done.insert(std::minmax(rule.key, rule.other)).second) continue;
        if (!is_seen(rule.key) && !is_seen(rule.other))
            put_lasting_error({0, std::string(rule.key),
                               fmt::format("is missing: required at least once, or {}", rule.other)},
                              &pass.seen[at]);
    }
}

void Engine::report(const Pass& pass) {
    for (size_t at = 0; at < pass.seen.size(); ++at) {
        const Rule& rule = *pass.file->rules[at].rule;
        const Seen& seen = pass.seen[at];
        RuleReport made{.file = std::string(pass.file->name),
                        .key = std::string(rule.key),
                        .asks = rule_words(rule, options_.target),
                        .seen = seen.count,
                        .first_line = seen.first != nullptr ? seen.first->line : 0,
                        .last_line = seen.last != nullptr ? seen.last->line : 0,
                        .problems = seen.problems};
        if (!made.problems.empty())
            made.status = seen.warned && made.problems.size() == 1 ? RuleReport::Status::kWarning
                                                                   : RuleReport::Status::kFail;
        for (const PythonValue* value : seen.different) made.values.push_back(shown(*value));
        reports_->push_back(std::move(made));
    }
}

void Engine::put_error(LogMessage message, Seen* seen) {
    if (reports_ != nullptr && seen != nullptr && seen->problems.size() < kShownValues)
        seen->problems.push_back(message.line > 0 ? fmt::format("line {}: {}", message.line, message.text)
                                                  : message.text);
    for (size_t at = 0; at < errors_.size(); ++at)
        if (!is_lasting_[at] && errors_[at].key == message.key) {
            errors_[at] = std::move(message);
            return;
        }
    errors_.push_back(std::move(message));
    is_lasting_.push_back(false);
}

void Engine::put_lasting_error(LogMessage message, Seen* seen) {
    if (seen != nullptr) seen->problems.push_back(message.text);
    errors_.push_back(std::move(message));
    is_lasting_.push_back(true);
}

void Engine::put_warning(LogMessage message, Seen* seen) {
    if (options_.warnings_are_errors) return put_error(std::move(message), seen);
    if (options_.quiet) return;
    seen->problems.push_back(message.text);
    seen->warned = true;
    const auto known = std::ranges::find(warnings_, message.key, &LogMessage::key);
    if (known != warnings_.end())
        *known = std::move(message);
    else
        warnings_.push_back(std::move(message));
}

void Engine::drop_errors_of(const RuleSet::File& file) {
    for (size_t at = errors_.size(); at-- > 0;) {
        const int key = rules_.keys().find(errors_[at].key);
        if (is_lasting_[at] || key == KeySet::kUnknown ||
            file.rule_of_key[static_cast<size_t>(key)] == RuleSet::File::kNone)
            continue;
        errors_.erase(errors_.begin() + static_cast<ptrdiff_t>(at));
        is_lasting_.erase(is_lasting_.begin() + static_cast<ptrdiff_t>(at));
    }
}

}  // namespace belay::bench
