// What the record commands print as JSON; the shapes are stable.
#pragma once

#include "record/archive/archive.h"

#include <nlohmann/json.hpp>

namespace belay::cli {

nlohmann::ordered_json to_json(const record::Value& value);
nlohmann::ordered_json to_json(const record::QueryResult& result);
nlohmann::ordered_json to_json(const record::RecordInfo& info);
nlohmann::ordered_json schema_json();

// A value for a person: times as ISO 8601, null as "".
std::string to_text(const record::Value& value);

}  // namespace belay::cli
