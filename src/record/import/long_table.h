// A table that is too long to be sealed in memory: parts of it as Parquet files, of which one is made at the
// end.
#pragma once

#include "record/archive/database.h"
#include "record/batch.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace belay::record {

class LongTable {
  public:
    // Two row groups of DuckDB's: 80 MB of the table `gpu`.
    static constexpr int64_t kPartRows = 245'760;

    // Makes the directory for its parts. Errors: kSystem.
    static core::Result<LongTable> create(const Table& table, const std::filesystem::path& directory,
                                          int64_t part_rows = kPartRows);

    // Errors: kSystem.
    core::Result<> add(const Batch& batch);
    // May be called where all rows that are added later come behind those added before, in order of node and
    // time: what is held is written when it is enough. Errors: kSystem.
    core::Result<> cut();
    int64_t rows() const { return rows_; }

    // Replaces the empty table of a sealed record and removes the parts. Errors: kSystem.
    core::Result<> replace(const std::filesystem::path& parquet);

  private:
    LongTable(const Table& table, std::filesystem::path directory, Database database, int64_t part_rows)
        : table_(&table),
          directory_(std::move(directory)),
          database_(std::move(database)),
          part_rows_(part_rows) {}
    core::Result<> write_part();

    const Table* table_;
    std::filesystem::path directory_;
    Database database_;
    int64_t part_rows_;
    int64_t rows_ = 0;
    int64_t held_ = 0;  // rows that are in no part yet
    std::vector<std::filesystem::path> parts_;
};

}  // namespace belay::record
