// Findings as JSON (the shape of docs/findings.md) and for a terminal.
#pragma once

#include "findings/finding.h"
#include "findings/rule.h"

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace belay::findings {

nlohmann::ordered_json to_json(const Report& report);
nlohmann::ordered_json to_json(const Finding& finding);
nlohmann::ordered_json rules_json(std::span<const Rule> rules);

// Most important first, each with evidence and advice; then a line of how many rules were evaluated and
// skipped.
std::string report_text(const Report& report);

// Of skipped rules, how many lack what, most first: "16 need samples of GPUs, 2 do not apply".
std::string skipped_text(const std::vector<Skipped>& skipped);

// Whether any finding is a warning or worse: then the record is not healthy.
bool is_healthy(const Report& report);

}  // namespace belay::findings
