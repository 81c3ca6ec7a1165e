#include "record/archive/duckdb_values.h"

#include "record/archive/duckdb_guards.h"

#include <cmath>
#include <limits>

namespace belay::record {

namespace {

double wide_to_double(duckdb_hugeint value) {
    return std::ldexp(static_cast<double>(value.upper), 64) + static_cast<double>(value.lower);
}

Value integer_or_real(duckdb_hugeint value) {
    if ((value.upper == 0 && value.lower <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) ||
        (value.upper == -1 && value.lower > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())))
        return static_cast<int64_t>(value.lower);
    return wide_to_double(value);
}

template <typename T>
T at(const void* data, idx_t row) {
    return static_cast<const T*>(data)[row];
}

Value time_value(int64_t count, int64_t nanoseconds_each) {
    int64_t nanoseconds = 0;
    if (__builtin_mul_overflow(count, nanoseconds_each, &nanoseconds))
        return fmt::format("outside 1678 to 2261: {} s since 1970",
                           static_cast<double>(count) * 1e-9 * static_cast<double>(nanoseconds_each));
    return core::time_from_nanoseconds(nanoseconds);
}

Value read_value(const DuckdbApi* api, duckdb_type type, void* data, idx_t row) {
    switch (type) {
        case DUCKDB_TYPE_BOOLEAN:
            return at<bool>(data, row);
        case DUCKDB_TYPE_TINYINT:
            return int64_t{at<int8_t>(data, row)};
        case DUCKDB_TYPE_SMALLINT:
            return int64_t{at<int16_t>(data, row)};
        case DUCKDB_TYPE_INTEGER:
            return int64_t{at<int32_t>(data, row)};
        case DUCKDB_TYPE_BIGINT:
            return at<int64_t>(data, row);
        case DUCKDB_TYPE_UTINYINT:
            return int64_t{at<uint8_t>(data, row)};
        case DUCKDB_TYPE_USMALLINT:
            return int64_t{at<uint16_t>(data, row)};
        case DUCKDB_TYPE_UINTEGER:
            return int64_t{at<uint32_t>(data, row)};
        case DUCKDB_TYPE_UBIGINT:
            return integer_or_real({at<uint64_t>(data, row), 0});
        case DUCKDB_TYPE_HUGEINT:
            return integer_or_real(at<duckdb_hugeint>(data, row));
        case DUCKDB_TYPE_FLOAT:
            return double{at<float>(data, row)};
        case DUCKDB_TYPE_DOUBLE:
            return at<double>(data, row);
        case DUCKDB_TYPE_TIMESTAMP_S:
            return time_value(at<int64_t>(data, row), 1'000'000'000);
        case DUCKDB_TYPE_TIMESTAMP_MS:
            return time_value(at<int64_t>(data, row), 1'000'000);
        case DUCKDB_TYPE_TIMESTAMP_NS:
            return time_value(at<int64_t>(data, row), 1);
        case DUCKDB_TYPE_TIMESTAMP:
        case DUCKDB_TYPE_TIMESTAMP_TZ:
            return time_value(at<int64_t>(data, row), 1'000);
        default:
            break;
    }
    auto* text = static_cast<duckdb_string_t*>(data) + row;
    return std::string(api->string_t_data(text), api->string_t_length(*text));
}

}  // namespace

bool is_plain(duckdb_type type) {
    switch (type) {
        case DUCKDB_TYPE_BOOLEAN:
        case DUCKDB_TYPE_TINYINT:
        case DUCKDB_TYPE_SMALLINT:
        case DUCKDB_TYPE_INTEGER:
        case DUCKDB_TYPE_BIGINT:
        case DUCKDB_TYPE_UTINYINT:
        case DUCKDB_TYPE_USMALLINT:
        case DUCKDB_TYPE_UINTEGER:
        case DUCKDB_TYPE_UBIGINT:
        case DUCKDB_TYPE_HUGEINT:
        case DUCKDB_TYPE_FLOAT:
        case DUCKDB_TYPE_DOUBLE:
        case DUCKDB_TYPE_VARCHAR:
        case DUCKDB_TYPE_TIMESTAMP:
        case DUCKDB_TYPE_TIMESTAMP_S:
        case DUCKDB_TYPE_TIMESTAMP_MS:
        case DUCKDB_TYPE_TIMESTAMP_NS:
        case DUCKDB_TYPE_TIMESTAMP_TZ:
            return true;
        default:
            return false;
    }
}

std::optional<QueryResult> read_result(const DuckdbApi* api, duckdb_result& result,
                                       std::vector<std::string> names, std::optional<core::ByteSize> memory) {
    QueryResult out{.columns = std::move(names), .rows = {}};
    std::vector<duckdb_type> types;
    for (idx_t i = 0; i < api->column_count(&result); ++i) types.push_back(api->column_type(&result, i));
    uint64_t bytes = 0;
    while (duckdb_data_chunk raw = api->fetch_chunk(result)) {
        ChunkGuard chunk{api, raw};
        idx_t rows = api->data_chunk_get_size(raw);
        bytes += rows * (sizeof(std::vector<Value>) + types.size() * sizeof(Value));
        if (memory && bytes > memory->bytes) return std::nullopt;
        size_t first = out.rows.size();
        out.rows.resize(first + rows, std::vector<Value>(types.size()));
        for (idx_t column = 0; column < types.size(); ++column) {
            duckdb_vector vector = api->data_chunk_get_vector(raw, column);
            void* data = api->vector_get_data(vector);
            uint64_t* validity = api->vector_get_validity(vector);
            for (idx_t row = 0; row < rows; ++row)
                if (validity == nullptr || api->validity_row_is_valid(validity, row)) {
                    Value& value = out.rows[first + row][column];
                    value = read_value(api, types[column], data, row);
                    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
                }
        }
    }
    return out;
}

duckdb_state append_value(const DuckdbApi* api, duckdb_appender appender, schema::ColumnType type,
                          const stream::ColumnValues& values, size_t row) {
    if (values.present[row] == 0) return api->append_null(appender);
    switch (type) {
        case schema::ColumnType::kText:
            return api->append_varchar_length(appender, values.texts[row].data(), values.texts[row].size());
        case schema::ColumnType::kReal:
            return api->append_double(appender, values.reals[row]);
        case schema::ColumnType::kBoolean:
            return api->append_bool(appender, values.integers[row] != 0);
        case schema::ColumnType::kTimestamp:
            return api->append_timestamp(appender, {values.integers[row] / 1000});
        case schema::ColumnType::kInteger:
            break;
    }
    return api->append_int64(appender, values.integers[row]);
}

double as_double(const Value& value) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    return std::numeric_limits<double>::quiet_NaN();
}

std::string as_text(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : std::string();
}

}  // namespace belay::record
