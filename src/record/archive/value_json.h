// A value of a query as JSON and as text: the one rendering that commands, findings and score share.
#pragma once

#include "record/archive/database.h"

#include <string>

#include <nlohmann/json.hpp>

namespace belay::record {

// Times as ISO 8601 text; null also for NaN and infinity, which JSON cannot say.
nlohmann::ordered_json to_json(const Value& value);

// For a person: the same without quotes, null as "".
std::string to_text(const Value& value);

}  // namespace belay::record
