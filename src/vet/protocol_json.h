// The catalogue and protocols as JSON: `belay vet list --json` and `belay vet show --json`.
#pragma once

#include "vet/protocol.h"

#include <nlohmann/json_fwd.hpp>

namespace belay::vet {

// {"type","scope","cost","summary","supported","parameters":[{"name","type","unit","default","required",
// "meaning"}]}; a default is what stands for the parameter in YAML, null if there is none.
nlohmann::json to_json(const CheckType& type);

// {"protocol","file","timeout","checks":[{"name","type","severity","scope","timeout","supported",
// "parameters":{}}],"warnings":[…]}: sizes in bytes, bandwidths in bytes per second, durations in seconds.
nlohmann::json to_json(const Protocol& protocol);

}  // namespace belay::vet
