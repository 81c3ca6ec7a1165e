#include "record/archive/scan.h"

#include "record/archive/database.h"

#include <limits>
#include <utility>

namespace belay::record {

namespace {

// What is missing gets a value of its own. The chunk is ours: nobody else reads the places of its nulls.
template <typename T>
const T* values_of(const DuckdbApi* api, duckdb_vector vector, size_t rows, T missing) {
    auto* values = static_cast<T*>(api->vector_get_data(vector));
    const uint64_t* validity = api->vector_get_validity(vector);
    if (validity == nullptr) return values;
    for (size_t row = 0; row < rows; ++row)
        if (((validity[row / 64] >> (row % 64)) & 1) == 0) values[row] = missing;
    return values;
}

}  // namespace

ScanRows::ScanRows(const DuckdbApi* api, duckdb_data_chunk chunk, const ScanRequest& request)
    : api_(api), size_(api->data_chunk_get_size(chunk)) {
    idx_t column = 0;
    auto next = [&] { return api->data_chunk_get_vector(chunk, column++); };
    time_ = values_of<int64_t>(api, next(), size_, 0);
    for (size_t i = 0; i < request.numbers.size() + request.formulas.size(); ++i)
        numbers_.push_back(values_of(api, next(), size_, std::numeric_limits<double>::quiet_NaN()));
    for (size_t i = 0; i < request.texts.size(); ++i) {
        duckdb_vector vector = next();
        texts_.push_back(
            {static_cast<duckdb_string_t*>(api->vector_get_data(vector)), api->vector_get_validity(vector)});
    }
    for (size_t i = 0; i < request.hashes.size(); ++i)
        hashes_.push_back(static_cast<const uint64_t*>(api->vector_get_data(next())));
}

std::string_view ScanRows::text(size_t index, size_t row) const {
    const Texts& texts = texts_[index];
    if (texts.validity != nullptr && ((texts.validity[row / 64] >> (row % 64)) & 1) == 0) return {};
    duckdb_string_t* text = texts.values + row;
    return {api_->string_t_data(text), api_->string_t_length(*text)};
}

std::string scan_sql(const ScanRequest& request, const std::string& source, size_t part) {
    std::string sql = "SELECT time";
    for (size_t column : request.numbers)
        sql += fmt::format(", CAST(\"{}\" AS DOUBLE)", request.table->columns[column].name);
    for (const std::string& formula : request.formulas) sql += fmt::format(", CAST({} AS DOUBLE)", formula);
    for (size_t column : request.texts) sql += fmt::format(", \"{}\"", request.table->columns[column].name);
    for (size_t column : request.hashes)
        sql += fmt::format(", hash(\"{}\")", request.table->columns[column].name);
    sql += fmt::format(" FROM {}", source);
    const char* word = " WHERE";
    if (part > 0)
        sql +=
            fmt::format("{} node >= {}", std::exchange(word, " AND"), sql_literal(request.splits[part - 1]));
    if (part < request.splits.size())
        sql += fmt::format("{} node < {}", std::exchange(word, " AND"), sql_literal(request.splits[part]));
    if (!request.filter.empty()) sql += fmt::format("{} ({})", word, request.filter);
    if (request.sort) sql += " ORDER BY node, time";
    return sql;
}

}  // namespace belay::record
