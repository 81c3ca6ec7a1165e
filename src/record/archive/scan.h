// Reads columns of a table that is too long to be held: rows come in chunks, in order of node and time.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/archive/duckdb_api.h"
#include "schema/schema.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

struct ScanRequest {
    const schema::Table* table = nullptr;
    std::vector<size_t> numbers;        // columns that are read as double
    std::vector<size_t> texts;          // columns that are read as text, which costs a copy of each
    std::vector<size_t> hashes;         // columns of which DuckDB's hash is read
    std::vector<std::string> formulas;  // SQL over the columns, read as double after those of `numbers`
    std::string filter;                 // SQL: which rows; empty: all
    std::vector<std::string> splits;    // n nodes, ascending, make n + 1 parts: part i ends before splits[i]
    bool sort = false;                  // a sealed table lies in order, unless somebody else has written it
};

// The rows of one chunk. Spans and views hold as long as the consumer's call.
class ScanRows {
  public:
    ScanRows(const DuckdbApi* api, duckdb_data_chunk chunk, const ScanRequest& request);
    size_t size() const { return size_; }
    // 1970 for a row that has none, as no recorder writes it.
    core::Time time(size_t row) const { return core::time_from_microseconds(time_[row]); }
    // Column request.numbers[index], or behind those, request.formulas; NaN is null. Whole numbers below 2^53
    // are exact.
    std::span<const double> numbers(size_t index) const { return {numbers_[index], size_}; }
    // Column request.texts[index]; null and "" are the same.
    std::string_view text(size_t index, size_t row) const;
    // Of column request.hashes[index].
    std::span<const uint64_t> hashes(size_t index) const { return {hashes_[index], size_}; }

  private:
    struct Texts {
        duckdb_string_t* values;
        uint64_t* validity;
    };

    const DuckdbApi* api_;
    size_t size_;
    const int64_t* time_;  // µs
    std::vector<const double*> numbers_;
    std::vector<Texts> texts_;
    std::vector<const uint64_t*> hashes_;
};

// Called with the chunks of a part in order; parts may come at the same time, each from a thread of its own.
using ScanConsumer = std::function<core::Result<>(size_t part, const ScanRows& rows)>;

// SELECT time, numbers, formulas, texts, hashes FROM `source` for a part. For the tests.
std::string scan_sql(const ScanRequest& request, const std::string& source, size_t part);

}  // namespace belay::record
