// What the record commands print as JSON; the shapes are stable.
#pragma once

#include "record/archive/archive.h"

#include <nlohmann/json.hpp>

namespace belay::cli {

nlohmann::ordered_json to_json(const record::QueryResult& result);
nlohmann::ordered_json to_json(const record::RecordInfo& info);
nlohmann::ordered_json schema_json();

}  // namespace belay::cli
