#include "record/archive/scan.h"

#include "record/archive/database.h"

#include <cmath>
#include <limits>

namespace belay::record {

namespace {

// Missing is NaN from here on. The chunk is ours: nobody else reads the places of its nulls.
const double* with_nan(const DuckdbApi* api, duckdb_vector vector, size_t rows) {
    auto* values = static_cast<double*>(api->vector_get_data(vector));
    uint64_t* validity = api->vector_get_validity(vector);
    if (validity == nullptr) return values;
    for (size_t row = 0; row < rows; ++row)
        if (((validity[row / 64] >> (row % 64)) & 1) == 0)
            values[row] = std::numeric_limits<double>::quiet_NaN();
    return values;
}

}  // namespace

ScanRows::ScanRows(const DuckdbApi* api, duckdb_data_chunk chunk, const ScanRequest& request)
    : api_(api), size_(api->data_chunk_get_size(chunk)) {
    idx_t column = 0;
    auto next = [&] { return api->data_chunk_get_vector(chunk, column++); };
    auto next_text = [&] {
        duckdb_vector vector = next();
        return Texts{static_cast<duckdb_string_t*>(api->vector_get_data(vector)),
                     api->vector_get_validity(vector)};
    };
    time_ = api->vector_get_data(next());
    node_ = next_text();
    for (size_t i = 0; i < request.numbers.size(); ++i) numbers_.push_back(with_nan(api, next(), size_));
    for (size_t i = 0; i < request.texts.size(); ++i) texts_.push_back(next_text());
}

std::string_view ScanRows::text_of(const Texts& texts, size_t row) const {
    if (texts.validity != nullptr && ((texts.validity[row / 64] >> (row % 64)) & 1) == 0) return {};
    duckdb_string_t* text = texts.values + row;
    return {api_->string_t_data(text), api_->string_t_length(*text)};
}

std::string scan_sql(const ScanRequest& request, const std::string& source, size_t part) {
    std::string sql = "SELECT time, node";
    for (size_t column : request.numbers)
        sql += fmt::format(", CAST(\"{}\" AS DOUBLE)", request.table->columns[column].name);
    for (size_t column : request.texts) sql += fmt::format(", \"{}\"", request.table->columns[column].name);
    sql += fmt::format(" FROM {} WHERE time IS NOT NULL", source);
    if (part > 0) sql += fmt::format(" AND node >= {}", sql_literal(request.splits[part - 1]));
    if (part < request.splits.size()) sql += fmt::format(" AND node < {}", sql_literal(request.splits[part]));
    if (request.sort) sql += " ORDER BY node, time";
    return sql;
}

}  // namespace belay::record
