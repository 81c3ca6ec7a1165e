// A rule as data: what it looks for, when it may be asked, and what to say. Read from TOML
// (docs/formats/findings-rule.md).
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

struct Detector;  // detect/detector.h

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
inline constexpr std::array<std::string_view, 3> kSeverityNames = {"info", "warning", "critical"};
std::string_view severity_name(Severity severity);
std::optional<Severity> severity_named(std::string_view name);

// A number of a rule that a site may set; the SQL says $name, a detector asks for it by its name.
struct Threshold {
    std::string name;
    double value = 0;
    std::string unit;
    std::string doc;
};

// A column of the rule's rows that is shown, in the order of declaration.
struct EvidenceColumn {
    std::string name;
    std::string unit;
    std::string doc;
};

struct Rule {
    std::string id;
    std::string title;
    Severity severity = Severity::kWarning;
    int64_t rank = 100;  // of findings alike in severity the lower comes first

    // Guards: where one is not met the rule is skipped, and the reason is told.
    std::vector<std::string> needs;                     // tables that must hold rows
    std::string applies_when;                           // SQL that gives one truth value; empty: always
    std::string otherwise;                              // why it is skipped where that is false
    core::Duration min_run = std::chrono::seconds(30);  // after start-up
    double min_coverage = 0.8;                          // of the tables it needs
    bool with_start_up = false;                         // the start-up is looked at too

    std::string sql;  // gives the findings' rows or, with a detector, what that looks at
    const Detector* detector = nullptr;
    std::vector<Threshold> thresholds;
    std::vector<EvidenceColumn> evidence;

    std::string summary;  // one line, {name} is a piece of evidence
    std::string advice;
    std::vector<std::string> references;
    std::vector<std::string> explains;  // ids of what is a consequence where this is found
    std::vector<std::string> shown_in;  // columns that a report plots, or its parts `event` and `coverage`

    std::string source;          // file, or "belay"
    core::SourcePosition place;  // of its table
    core::SourcePosition sql_place;

    const Threshold* find_threshold(std::string_view name) const;
};

struct RuleSet {
    std::vector<Rule> rules;
    std::vector<core::Error>
        problems;  // each kBadInput with its place; the rule that it concerns is left out
};

// What `belay findings list` says of the guards, for a person: "needs gpu_series; 30 s after start-up; ...".
std::string guards_text(const Rule& rule);

}  // namespace belay::findings
