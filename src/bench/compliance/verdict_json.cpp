#include "bench/compliance/verdict_json.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& number) {
    return number ? Json(*number) : Json();
}

Json texts_of(std::span<const LogMessage> messages) {
    Json texts = Json::array();
    for (const LogMessage& message : messages) texts.push_back(message_text(message));
    return texts;
}

// Of one instance: nodes without accelerators count as one each, as the official summarizer does.
std::optional<double> accelerators_of(const LogFacts& facts) {
    if (!facts.nodes || !facts.accelerators_per_node) return std::nullopt;
    return *facts.nodes * std::max(*facts.accelerators_per_node, 1.0);
}

std::string_view status_name(RuleReport::Status status) {
    constexpr std::string_view kNames[] = {"pass", "warning", "fail"};
    return kNames[static_cast<size_t>(status)];
}

}  // namespace

std::string message_text(const LogMessage& message) {
    std::string text = message.line > 0 ? fmt::format("line {}: ", message.line) : "";
    if (!message.key.empty()) text += message.key + ": ";
    return text + message.text;
}

Json to_json(const LogVerdict& verdict) {
    const LogFacts& facts = verdict.facts;
    return {{"file", verdict.file},
            {"benchmark", facts.benchmark.empty() ? Json() : Json(facts.benchmark)},
            {"ruleset", verdict.ruleset},
            {"status", verdict.passed ? "pass" : "fail"},
            {"minutes", or_null(facts.minutes)},
            {"epochs", or_null(facts.epochs)},
            {"global_batch_size", or_null(facts.global_batch_size)},
            {"accelerators", or_null(accelerators_of(facts))},
            {"samples_per_second", or_null(facts.samples_per_second)},
            {"staging_seconds", or_null(facts.staging_seconds)},
            {"errors", texts_of(verdict.errors)},
            {"warnings", texts_of(verdict.warnings)}};
}

Json to_json(const ExplainedVerdict& explained) {
    Json json = to_json(explained.verdict);
    Json& rules = json["rules"] = Json::array();
    for (const RuleReport& rule : explained.rules)
        rules.push_back({{"file", rule.file},
                         {"key", rule.key},
                         {"asks", rule.asks},
                         {"status", status_name(rule.status)},
                         {"decides", rule.decides},
                         {"seen", rule.seen},
                         {"first_line", rule.first_line > 0 ? Json(rule.first_line) : Json()},
                         {"last_line", rule.last_line > 0 ? Json(rule.last_line) : Json()},
                         {"values", rule.values},
                         {"problems", rule.problems}});
    json["notes"] = texts_of(explained.notes);
    return json;
}

Json to_json(std::span<const BenchmarkRule> rules, std::string_view benchmark, std::string_view division,
             std::string_view ruleset) {
    Json json = {{"benchmark", benchmark}, {"ruleset", ruleset}, {"division", division}, {"target", Json()}};
    Json& list = json["hyperparameters"] = Json::array();
    for (const BenchmarkRule& row : rules) {
        if (row.is_replaced) continue;
        if (row.rule->any.kind != TestKind::kNone)
            json["target"] = {
                {"key", row.rule->key}, {"asks", test_words(row.rule->any)}, {"value", row.rule->any.number}};
        list.push_back({{"file", row.file},
                        {"key", row.rule->key},
                        {"required", row.rule->count != RuleCount::kOptional},
                        {"asks", rule_words(*row.rule)},
                        {"when", row.when.empty() ? Json() : Json(row.when)}});
    }
    return json;
}

}  // namespace belay::bench
