// A job record as tables for SQL: what reading, querying and sealing share.
#pragma once

#include "record/archive/database.h"
#include "record/manifest.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

struct TableInfo {
    int64_t rows = 0;
    std::optional<core::Time> start;  // earliest and latest `time`; nothing for an empty table
    std::optional<core::Time> end;
    std::optional<double> coverage;  // samples received / expected, 0..1; nothing for event-like tables
};

struct RecordInfo {
    Manifest manifest;
    bool sealed = false;
    bool being_written = false;      // a recorder on this machine is at work
    std::optional<double> coverage;  // over all periodic tables, weighted by samples
    std::vector<Lost> lost;
    std::map<std::string, TableInfo> tables;
};

// An opened record. Every table of the schema can be queried by its name, also one without rows.
class Archive {
  public:
    // Reads a sealed record's Parquet files in place, or loads the segments of one that is not. SQL sees
    // nothing outside the record. Errors: kBadInput if `record` is no record; kSystem.
    static core::Result<Archive> open(const std::filesystem::path& record);

    // Errors: kBadInput with DuckDB's message.
    core::Result<QueryResult> query(const std::string& sql) { return database_.query(sql); }
    core::Result<RecordInfo> info();
    const Manifest& manifest() const { return manifest_; }

  private:
    friend core::Result<bool> seal(const std::filesystem::path& record, core::Time now);
    Archive(std::filesystem::path record, Manifest manifest, Database database)
        : record_(std::move(record)), manifest_(std::move(manifest)), database_(std::move(database)) {}
    static core::Result<Archive> load(const std::filesystem::path& record);
    core::Result<> load_segments();
    core::Result<> open_tables();

    std::filesystem::path record_;
    Manifest manifest_;
    Database database_;
    std::vector<SegmentSummary> segments_;
    bool being_written_ = false;
};

// Turns the segments into one Parquet file per table and removes them; true if it did, false if the record
// was sealed before. At any moment a crash leaves either the segments or the whole sealed record. Errors:
// kBadInput if a recorder on this machine still writes to it, or another process seals it; kSystem.
core::Result<bool> seal(const std::filesystem::path& record, core::Time now);

}  // namespace belay::record
