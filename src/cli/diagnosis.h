// Findings on a record, for every command that shows them.
#pragma once

#include "core/command.h"
#include "findings/engine.h"
#include "record/archive/archive.h"
#include "score/digest.h"

#include <optional>
#include <string>

namespace belay::cli {

// The built-in rules, then those of the setting findings.rules, or of the file or directory `given`. A wrong
// rule is among the problems of the set. Errors: kBadInput if `given` holds no rules.
core::Result<findings::RuleSet> site_rules(const core::CommandContext& context,
                                           const std::string& given = "");

// A record for SQL that this program did not bring with it: within query.time and query.memory. Errors: as of
// Archive::open().
core::Result<record::Archive> open_for_queries(const core::CommandContext& context,
                                               const std::filesystem::path& record);

// Evaluates them. `digest` is that of the GPUs where the caller has read it, else null. GPUs that cannot be
// read are a problem of the report, and the other rules are still evaluated. Errors: as findings::diagnose().
core::Result<findings::Report> diagnose_record(record::Archive& archive, const findings::RuleSet& rules,
                                               const score::Digest* digest);

// Keeps beside the tables of a sealed record what is made of them: the digest of its GPUs, and what the rules
// and the report read of hosts and processes. What cannot be kept is said on stderr: without it everything
// works, only slower.
void keep_made_tables(const std::filesystem::path& record);

// Makes the series of hosts, processes, interfaces and disks tables for SQL, those that the record keeps or
// else of its samples; those of GPUs too, and returns why they have no rows where they cannot be read.
// Errors: as findings::add_series().
core::Result<std::optional<core::Error>> add_series_tables(record::Archive& archive);

}  // namespace belay::cli
