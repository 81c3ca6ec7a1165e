// Rows of a table as a person or another program writes them in JSON.
#pragma once

#include "core/error.h"
#include "stream/batch.h"

#include <string_view>

namespace belay::record {

// An array of objects by the names of the table's columns: times as ISO 8601 in UTC, what is absent or null
// is not known. Every row has a time and a node. Errors: kBadInput, naming the row and what is wrong with it.
core::Result<stream::Batch> rows_from_json(const schema::Table& table, std::string_view text,
                                           std::string_view file_name);

}  // namespace belay::record
