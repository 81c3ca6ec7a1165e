// One parameter of a check, from YAML to its value.
#pragma once

#include "core/yaml.h"
#include "vet/protocol.h"

#include <functional>

namespace belay::vet {

// Makes an error at a place of the protocol; the message gets the parameter's name in front.
struct Problem {
    std::string message;
    std::string hint = {};
};

struct ParsedParameter {
    std::optional<ParameterValue> value;  // nothing for null where that means "unset"
    std::string warning = {};
};

// What `parameter` becomes. The problem says what was wanted and what stands there.
std::expected<ParsedParameter, Problem> parse_parameter(const Parameter& parameter,
                                                        const core::YamlNode& node);

}  // namespace belay::vet
