// Cases of rules: small tables made from expressions, and whether the rule must fire on them. They stand
// beside the rules, NAME.cases.toml beside NAME.toml (docs/formats/findings-rule.md).
#pragma once

#include "findings/engine.h"
#include "findings/finding.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::findings {

using Expressions = std::vector<std::pair<std::string, std::string>>;  // column, SQL

// Rows of one table: one per moment, node and k.
struct Fill {
    std::string table;
    double every = 1;          // seconds between two moments
    double from = 0;           // seconds since the start of the run
    std::optional<double> to;  // nothing: the end of the case
    int64_t per_node = 1;
    std::string where;  // SQL over t, i, n, k; empty: all
    Expressions set;    // a column's value
    Expressions rates;  // a counter by its rate per second
    core::SourcePosition place;
};

struct Case {
    std::string rule;
    std::string name;
    bool fires = false;
    std::optional<Severity> severity;  // that the finding must have; nothing: any
    double seconds = 0;
    int64_t nodes = 1;
    std::vector<Fill> fills;  // those of the shapes that it uses first
    core::SourcePosition place;
};

// Errors: kBadInput with the place of the first mistake.
core::Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& file);

// The tables of a case. Errors: kBadInput at the expression that is wrong.
core::Result<record::Archive> build_case(const Case& spec);

struct CaseResult {
    const Case* spec = nullptr;
    bool passed = false;
    std::string why;  // not passed
};

// Asks all rules: one that must fire must also come first; one that must not has to have been asked or
// skipped for a reason of its own. Errors: those of build_case and diagnose; kBadInput for a rule that is not
// there.
core::Result<CaseResult> run_case(const Case& spec, const RuleSet& rules);

// The cases of a file of rules, of a file of cases, or of a directory. Errors: kBadInput, kSystem.
core::Result<std::vector<Case>> load_cases(const std::filesystem::path& path);

}  // namespace belay::findings
