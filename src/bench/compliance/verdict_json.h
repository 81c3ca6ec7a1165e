// Verdicts on logs for programs and for people.
#pragma once

#include "bench/compliance/check.h"
#include "bench/compliance/rules.h"

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::bench {

// "line 12: opt_name: is "adam", must be ..."
std::string message_text(const LogMessage& message);

// One element of what `belay bench check --json` prints; what is unknown is null.
nlohmann::ordered_json to_json(const LogVerdict& verdict);
// The same with "rules" and "notes".
nlohmann::ordered_json to_json(const ExplainedVerdict& explained);

// {"benchmark","ruleset","division","target":{"key","asks","value"},"hyperparameters":[{"file","key","required",
// "asks","when"}]}: of rules that are replaced only the later one.
nlohmann::ordered_json to_json(std::span<const BenchmarkRule> rules, std::string_view benchmark,
                               std::string_view division, std::string_view ruleset);

}  // namespace belay::bench
