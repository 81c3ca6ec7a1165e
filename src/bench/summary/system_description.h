// systems/SYSTEM.json of a submission package: what a system is made of, and in which division its results stand.
#pragma once

#include "core/error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct SystemDescription {
    std::string submitter, division, status, name;  // empty where the field is missing or is not text
    std::optional<double> nodes, accelerators_per_node, host_processors_per_node;
    // Required fields that are not there, of the 33 of system_desc_checker.py in mlcommons/logging 4.1.59, in its order. Only
    // their presence is required.
    std::vector<std::string> missing;
    // T: nodes * accelerators of each, or the nodes where they have none.
    std::optional<double> accelerators() const;
    // What the joint analysis counts of a node: accelerators, or host processors where it has none.
    std::optional<double> units_per_node() const;
};

// Numbers may be written as text, as published descriptions do. Errors: kBadInput, with the place, for what is
// not a JSON object.
core::Result<SystemDescription> parse_system_description(std::string_view text, std::string_view file);

}  // namespace belay::bench
