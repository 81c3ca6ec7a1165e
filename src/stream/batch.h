// Rows of one table in memory, column by column: what collectors fill and what the codec encodes.
//
//   Batch rows(kHost);
//   rows.add_row(now, "n1");                                  // every other column of the row is null
//   rows.set(column(kHost, "load_1m"), 0.25);                 // in the row added last
//
// Not thread-safe.
#pragma once

#include "core/time.h"
#include "schema/schema.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stream {

// One column's values. `present[i]` is 0 where row i is null; then the value at i is 0 or "". Only the vector
// of the column's type is filled: integers for kInteger, kTimestamp (nanoseconds) and kBoolean (0 or 1).
struct ColumnValues {
    std::vector<uint8_t> present;
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string> texts;
};

class Batch {
  public:
    explicit Batch(const schema::Table& table);

    const schema::Table& table() const { return *table_; }
    size_t rows() const { return rows_; }
    bool empty() const { return rows_ == 0; }

    void add_row(core::Time time, std::string_view node);
    // Sets a value in the row added last. The column's type must fit the value's; a double that is not finite
    // is null; of a text, which may be any bytes, valid UTF-8 is made, because nobody reads Parquet files
    // with anything else.
    void set(size_t column, double value);
    void set(size_t column, int64_t value);
    void set(size_t column, int value) { set(column, static_cast<int64_t>(value)); }
    void set(size_t column, uint64_t value) { set(column, static_cast<int64_t>(value)); }
    void set(size_t column, bool value);
    void set(size_t column, std::string_view value);
    void set(size_t column, const char* value) { set(column, std::string_view(value)); }
    void set(size_t column, const std::string& value) { set(column, std::string_view(value)); }
    void set(size_t column, core::Time value);
    template <typename T>
    void set(size_t column, const std::optional<T>& value) {
        if (value) set(column, *value);
    }

    // The rows first, first + 1 ... as a batch of their own.
    Batch slice(size_t first, size_t count) const;
    // Adds all rows of another batch of the same table, or those from `first` on.
    void append(const Batch& other);
    void append(const Batch& other, size_t first, size_t count);

    const ColumnValues& values(size_t column) const { return columns_[column]; }
    ColumnValues& values(size_t column) { return columns_[column]; }
    // For decoders, which fill whole columns: every column must then hold `rows` values.
    void set_rows(size_t rows) { rows_ = rows; }
    void clear();

  private:
    const schema::Table* table_;
    size_t rows_ = 0;
    std::vector<ColumnValues> columns_;
};

}  // namespace belay::stream
