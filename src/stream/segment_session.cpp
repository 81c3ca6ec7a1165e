#include "stream/segment_session.h"

#include "core/json.h"
#include "stream/segment_format.h"

#include <algorithm>

namespace belay::stream {

using core::bad_input;
using core::Result;

namespace {

std::optional<schema::ColumnType> type_named(std::string_view name) {
    for (schema::ColumnType type :
         {schema::ColumnType::kTimestamp, schema::ColumnType::kText, schema::ColumnType::kInteger,
          schema::ColumnType::kReal, schema::ColumnType::kBoolean})
        if (sql_type(type) == name) return type;
    return std::nullopt;
}

WrittenColumn match_column(const schema::Table* table, std::string_view name, schema::ColumnType type) {
    if (table == nullptr) return {type, std::nullopt};
    auto found = std::ranges::find(table->columns, name, &schema::Column::name);
    if (found == table->columns.end() || found->type != type) return {type, std::nullopt};
    return {type, static_cast<size_t>(found - table->columns.begin())};
}

// Throws the library's exceptions, which decode_session() catches.
Result<WrittenSchema> schema_from_json(const nlohmann::json& tables_json) {
    if (tables_json.size() > kMaxTables) return bad_input("more than {} tables", kMaxTables);
    WrittenSchema schema;
    for (const auto& table_json : tables_json) {
        WrittenTable written{schema::find_table(table_json.at("name").get<std::string>()), {}};
        const auto& columns_json = table_json.at("columns");
        if (columns_json.size() > kMaxColumns) return bad_input("more than {} columns", kMaxColumns);
        for (const auto& column_json : columns_json) {
            auto type = type_named(column_json.at(1).get<std::string>());
            if (!type) return bad_input("unknown column type");
            written.columns.push_back(
                match_column(written.table, column_json.at(0).get<std::string>(), *type));
        }
        schema.push_back(std::move(written));
    }
    return schema;
}

// What says which stream a segment is a part of; older ones say nothing. Throws likewise.
void take_stream(const nlohmann::json& json, Session& session) {
    auto text = [&](const char* key) { return json.contains(key) ? json.at(key).get<std::string>() : ""; };
    session.cluster = text("cluster");
    session.boot = text("boot");
    session.source = text("source");
    session.began = json.contains("began")
                        ? core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("began")))
                        : session.start;
    if (json.contains("first_block"))
        session.first_block = core::integer_from<uint64_t>(json.at("first_block"));
}

}  // namespace

bool WrittenTable::knows_all() const {
    return std::ranges::all_of(columns, [](const WrittenColumn& column) { return column.index.has_value(); });
}

WrittenSchema own_schema() {
    WrittenSchema schema;
    for (const schema::Table* table : schema::tables()) {
        WrittenTable written{table, {}};
        for (const schema::Column& column : table->columns)
            written.columns.push_back(match_column(table, column.name, column.type));
        schema.push_back(std::move(written));
    }
    return schema;
}

Result<WrittenSession> decode_session(std::string_view payload) {
    try {
        auto json = core::parse_json(payload);
        WrittenSession written;
        Session& session = written.session;
        session.node = json.at("node").get<std::string>();
        if (const auto& task = json.at("task"); !task.is_null())
            session.task = core::integer_from<int64_t>(task);
        session.periodic = json.at("periodic").get<bool>();
        session.start = core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("start")));
        session.interval = core::Duration(core::integer_from<int64_t>(json.at("interval")));
        session.flush = core::Duration(core::integer_from<int64_t>(json.at("flush")));
        session.version = json.at("version").get<std::string>();
        take_stream(json, session);
        if (session.first_block > kMaxBlockNumber) return bad_input("a block number beyond reason");
        BELAY_TRY(schema, schema_from_json(json.at("tables")));
        written.schema = std::move(schema);
        return written;
    } catch (const nlohmann::json::exception&) {
        return bad_input("session block is malformed");
    }
}

Result<core::Time> decode_end(std::string_view payload) {
    try {
        auto json = core::parse_json(payload);
        return core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("time")));
    } catch (const nlohmann::json::exception&) {
        return bad_input("end block is malformed");
    }
}

}  // namespace belay::stream
