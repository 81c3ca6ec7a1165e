// Rows of SQL as series, and findings' rows to be.
#pragma once

#include "record/archive/database.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

// All rows of one (node, device, task), in order of time.
struct Series {
    std::string node;
    std::string device;
    std::optional<int64_t> task;
    std::vector<double> times;                                        // seconds since 1970
    std::map<std::string, std::vector<double>, std::less<>> columns;  // NaN: missing

    // NaN throughout for a column that is not there.
    const std::vector<double>& operator[](std::string_view name) const;
};

// Rows without a time are left out.
std::vector<Series> split_series(const record::QueryResult& rows);

core::Time time_of(double seconds);

// Collects rows of a detector's answer by the names of columns.
class Rows {
  public:
    // Columns start, end, node, device, task and these.
    explicit Rows(std::span<const std::string_view> more);
    void add(const Series& series, double start, double end);
    void set(std::string_view column, double value);  // of the row added last; NaN is null
    void set(std::string_view column, std::string_view text);
    record::QueryResult take() { return std::move(result_); }

  private:
    record::Value& cell(std::string_view column);
    record::QueryResult result_;
};

}  // namespace belay::findings
