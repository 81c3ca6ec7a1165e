// What the rules found in a record.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "findings/rule.h"
#include "record/archive/database.h"

#include <string>
#include <utility>
#include <vector>

namespace belay::findings {

// A piece of evidence: value and unit; monostate where it was not measured.
struct Evidence {
    std::string name;
    record::Value value;
    std::string unit;
};

// One node, device or rank that a finding concerns, with its own numbers.
struct Entity {
    std::string node;    // empty: the job as a whole
    std::string device;  // empty: none in particular
    std::vector<Evidence> evidence;
};

struct Finding {
    std::string id;
    Severity severity = Severity::kWarning;
    std::string title;
    std::string summary;  // one line with the numbers
    core::Time start;
    core::Time end;
    std::vector<std::string> nodes;
    std::vector<std::string> devices;
    bool is_sure = true;             // confidence high or low
    std::string doubt;               // why it is low
    std::vector<Evidence> evidence;  // of the worst entity
    std::vector<Entity> entities;    // worst first, at most kMostEntities
    size_t entity_count = 0;
    std::string advice;
    std::vector<std::string> references;
    std::vector<std::string> caused_by;  // ids of findings that explain this one
    std::vector<std::string> shown_in;   // of the rule: what shows the evidence
    int64_t rank = 0;
};

inline constexpr size_t kMostEntities = 64;

struct Skipped {
    std::string id;
    std::string why;
    // What would have to be there, in the same words for all rules that lack the same ("samples of GPUs");
    // empty where the rule does not apply or failed.
    std::string lacks = {};
};

struct Report {
    std::vector<std::string> evaluated;
    std::vector<Skipped> skipped;
    std::vector<Finding> findings;      // true causes first, each followed by what matters less
    std::vector<core::Error> problems;  // of rules that could not be asked
    core::Time start;                   // from which times are told, as in a report
    core::Time end;
    double start_up_seconds = 0;
};

}  // namespace belay::findings
