// A table that is too long to be sealed in memory: parts of it as Parquet files, of which one is made at the
// end.
#pragma once

#include "core/directory.h"
#include "record/archive/database.h"
#include "stream/batch.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

class LongTable {
  public:
    // Two row groups of DuckDB's: 80 MB of the table `gpu`.
    static constexpr int64_t kPartRows = 245'760;

    // `directory` is empty and this user's alone. Errors: kSystem.
    static core::Result<LongTable> create(const schema::Table& table, core::Directory directory,
                                          int64_t part_rows = kPartRows);

    // Errors: kSystem.
    core::Result<> add(const stream::Batch& batch);
    // May be called where all rows that are added later come behind those added before, in order of node and
    // time: what is held is written when it is enough. Errors: kSystem.
    core::Result<> cut();
    int64_t rows() const { return rows_; }

    // Replaces the empty table of a sealed record and removes the parts from their directory. Errors:
    // kSystem.
    core::Result<> replace(const core::Directory& record, std::string_view name);

  private:
    LongTable(const schema::Table& table, core::Directory directory, Database database, int64_t part_rows)
        : table_(&table),
          directory_(std::move(directory)),
          database_(std::move(database)),
          part_rows_(part_rows) {}
    core::Result<> write_part();
    std::string sql_name(const std::string& part) const;

    const schema::Table* table_;
    core::Directory directory_;
    Database database_;
    int64_t part_rows_;
    int64_t rows_ = 0;
    int64_t held_ = 0;                // rows that are in no part yet
    std::vector<std::string> parts_;  // names in the directory
};

}  // namespace belay::record
