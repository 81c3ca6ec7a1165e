// Parquet files of a record's tables.
#pragma once

#include "core/new_file.h"
#include "record/archive/database.h"
#include "schema/schema.h"

#include <map>
#include <string>
#include <string_view>

namespace belay::record {

enum class RowOrder {
    kAsTheyCome,  // they are in order of node and time
    kSort,
};

// All rows of a table of the database, by node and time; the file is there as a whole or not at all. It
// carries the table's documentation and `facts`, which parquet_facts() gives back. Errors: kSystem.
core::Result<> write_parquet(Database& database, const schema::Table& table, RowOrder order,
                             core::NewFile file, std::string_view facts = "");
// What a SELECT gives, with `metadata`, likewise. Errors: kSystem.
core::Result<> write_rows(Database& database, std::string_view select, core::NewFile file,
                          const std::map<std::string, std::string>& metadata);
// A value of a lent file's metadata; "" if it has none. Errors: kBadInput if it is not a Parquet file.
core::Result<std::string> parquet_metadata(Database& database, const std::string& lent, std::string_view key);
core::Result<std::string> parquet_facts(Database& database, const std::string& lent);

}  // namespace belay::record
