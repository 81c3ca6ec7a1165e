// Asks the rules about a record.
#pragma once

#include "findings/finding.h"
#include "findings/prepare.h"
#include "findings/rule.h"
#include "findings/run.h"

#include <optional>
#include <string>

namespace belay::findings {

// Prepares the tables and asks each rule whose guards are met. A rule that fails is skipped and among the
// problems; the others are asked. Errors: those of prepare().
core::Result<Report> diagnose(record::Archive& archive, const RuleSet& rules,
                              const PrepareGpus& prepare_gpus);

// SQL of a rule with its thresholds and what it says of the run.
std::string with_values(const Rule& rule, std::string_view sql, const Run& run);

struct SkipReason {
    std::string why;
    std::string lacks;  // as of Skipped
};
// Why a rule cannot be asked; nothing where it can. Errors: kBadInput of its own SQL.
core::Result<std::optional<SkipReason>> reason_to_skip(record::Archive& archive, const Rule& rule,
                                                       const Run& run);

// One finding out of a rule's rows, the worst first; nothing without rows.
std::optional<Finding> make_finding(const Rule& rule, const record::QueryResult& rows, const Run& run);

// True causes first: what another finding explains, at the same time, comes after it, and says so; among
// equals severity, then rank.
void put_in_order(std::vector<Finding>& findings, const std::vector<Rule>& rules);

// Below it, and in a run shorter than that, little can be said for sure (the catalogue's 600 s).
inline constexpr double kSureSeconds = 600;

}  // namespace belay::findings
