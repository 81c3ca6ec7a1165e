// Verdicts as JSON: the shape of `belay vet run --json`; and with failures whole, what processes and nodes
// tell each other.
#pragma once

#include "core/error.h"
#include "vet/verdict.h"

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace belay::vet {

nlohmann::json to_json(const CheckResult& check);
nlohmann::json to_json(const NodeVerdict& node);
nlohmann::json to_json(const Verdicts& verdicts);

// The same with what failed as core/error_codec.h carries it.
nlohmann::json to_wire(const CheckResult& check);
nlohmann::json to_wire(const NodeVerdict& node);
nlohmann::json to_wire(const Verdicts& verdicts);

// The inverses of both, for what comes from another node. Errors: kSystem, naming the field.
core::Result<CheckResult> check_from_json(const nlohmann::json& value);
core::Result<NodeVerdict> node_from_json(const nlohmann::json& value);
core::Result<Verdicts> verdicts_from_json(const nlohmann::json& value);

// One line without line feed; text that is not UTF-8 gets replacement characters.
std::string compact(const nlohmann::json& value);

}  // namespace belay::vet
