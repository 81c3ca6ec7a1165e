#include "record/rows_json.h"

#include "core/json.h"

#include <algorithm>

namespace belay::record {

using core::bad_input;
using core::Result;
using Json = nlohmann::ordered_json;

namespace {

constexpr size_t kTime = 0;  // of every table
constexpr size_t kNode = 1;

// Throws the library's type_error for a value of another type.
Result<> set_value(stream::Batch& rows, size_t column, const Json& value) {
    switch (rows.table().columns[column].type) {
        case schema::ColumnType::kTimestamp: {
            BELAY_TRY(time, core::parse_time(value.get<std::string>()));
            rows.set(column, time);
            return {};
        }
        case schema::ColumnType::kText:
            rows.set(column, value.get<std::string>());
            return {};
        case schema::ColumnType::kInteger:
            rows.set(column, core::integer_from<int64_t>(value));
            return {};
        case schema::ColumnType::kReal:
            if (!value.is_number()) throw Json::type_error::create(302, "not a number", &value);
            rows.set(column, value.get<double>());
            return {};
        case schema::ColumnType::kBoolean:
            rows.set(column, value.get<bool>());
            return {};
    }
    return {};
}

Result<size_t> column_named(const schema::Table& table, std::string_view name) {
    auto column = std::ranges::find(table.columns, name, &schema::Column::name);
    if (column == table.columns.end())
        return bad_input("table {} has no column \"{}\"", table.name, name)
            .hint("belay record schema lists the columns");
    return static_cast<size_t>(column - table.columns.begin());
}

Result<> add_row(stream::Batch& rows, const Json& row) {
    if (!row.is_object()) return bad_input("not an object");
    for (size_t needed : {kTime, kNode}) {
        const std::string name(rows.table().columns[needed].name);
        if (!row.contains(name) || row.at(name).is_null()) return bad_input("\"{}\" is missing", name);
    }
    rows.add_row(core::Time(), "");
    for (const auto& [name, value] : row.items()) {
        if (value.is_null()) continue;
        BELAY_TRY(column, column_named(rows.table(), name));
        try {
            BELAY_CHECK(core::with_context(set_value(rows, column, value), fmt::format("\"{}\"", name)));
        } catch (const Json::exception&) {
            return bad_input("\"{}\" is not of type {}", name, sql_type(rows.table().columns[column].type));
        }
    }
    return {};
}

}  // namespace

Result<stream::Batch> rows_from_json(const schema::Table& table, std::string_view text,
                                     std::string_view file_name) {
    BELAY_TRY(json, core::parse_json_file(text, file_name));
    if (!json.is_array()) return bad_input("{}: rows are a JSON array of objects", file_name);
    stream::Batch rows(table);
    for (size_t i = 0; i < json.size(); ++i)
        BELAY_CHECK(core::with_context(add_row(rows, json[i]), fmt::format("{}: row {}", file_name, i + 1)));
    return rows;
}

}  // namespace belay::record
