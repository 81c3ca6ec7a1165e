// Rules from TOML text, and a site's changes to rules that exist.
#pragma once

#include "findings/rule.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

// [[override]]: what a site changes in a rule without writing it anew.
struct Override {
    std::string id;
    std::optional<bool> enabled;
    std::optional<Severity> severity;
    std::optional<core::Duration> min_run;
    std::map<std::string, double> thresholds;
    std::map<std::string, core::SourcePosition> places;  // of the keys in `thresholds`, and of "id"
};

struct RuleText {
    std::vector<Rule> rules;
    std::vector<Override> overrides;
    std::vector<core::Error> problems;  // kBadInput, each with its place
};

// Reads as much as is right: a mistake costs the rule that it stands in, one in the TOML itself the whole
// text. The SQL is only looked at for its $names.
RuleText parse_rules(std::string_view text, const std::string& file);

}  // namespace belay::findings
