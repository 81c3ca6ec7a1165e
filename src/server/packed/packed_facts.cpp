#include "server/packed/packed_facts.h"

#include "core/json.h"
#include "core/utf8.h"
#include "stream/column_codec.h"
#include "stream/cursor.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <array>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

std::optional<schema::ColumnType> column_type_named(std::string_view name) {
    for (schema::ColumnType type :
         {schema::ColumnType::kTimestamp, schema::ColumnType::kText, schema::ColumnType::kInteger,
          schema::ColumnType::kReal, schema::ColumnType::kBoolean})
        if (sql_type(type) == name) return type;
    return std::nullopt;
}

stream::WrittenColumn matched_column(const schema::Table* table, std::string_view name,
                                     schema::ColumnType type) {
    if (table == nullptr) return {type, std::nullopt};
    const auto found = std::ranges::find(table->columns, name, &schema::Column::name);
    if (found == table->columns.end() || found->type != type) return {type, std::nullopt};
    return {type, static_cast<size_t>(found - table->columns.begin())};
}

const schema::Table* table_named(Tier tier, std::string_view name) {
    const auto tables = tables_of(tier);
    const auto found =
        std::ranges::find(tables, name, [](const schema::Table* table) { return table->name; });
    return found == tables.end() ? nullptr : *found;
}

nlohmann::json json_of_tables(Tier tier) {
    nlohmann::json tables_json = nlohmann::json::array();
    for (const schema::Table* table : tables_of(tier)) {
        nlohmann::json columns = nlohmann::json::array();
        for (const schema::Column& column : table->columns)
            columns.push_back({std::string(column.name), std::string(sql_type(column.type))});
        tables_json.push_back({{"name", std::string(table->name)}, {"columns", std::move(columns)}});
    }
    return tables_json;
}

// Throws the library's exceptions, which decode_packed_facts() catches.
Result<stream::WrittenSchema> schema_of_json(Tier tier, const nlohmann::json& tables_json) {
    if (tables_json.size() > stream::kMaxTables) return bad_input("more than {} tables", stream::kMaxTables);
    stream::WrittenSchema schema;
    for (const auto& table_json : tables_json) {
        stream::WrittenTable written{table_named(tier, table_json.at("name").get<std::string>()), {}};
        const auto& columns_json = table_json.at("columns");
        if (columns_json.size() > stream::kMaxColumns)
            return bad_input("more than {} columns", stream::kMaxColumns);
        for (const auto& column_json : columns_json) {
            const auto type = column_type_named(column_json.at(1).get<std::string>());
            if (!type) return bad_input("unknown column type");
            written.columns.push_back(
                matched_column(written.table, column_json.at(0).get<std::string>(), *type));
        }
        schema.push_back(std::move(written));
    }
    return schema;
}

std::string dumped(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json json_of_session(const stream::Session& session) {
    return {{"task", session.task ? nlohmann::json(*session.task) : nlohmann::json()},
            {"periodic", session.periodic},
            {"start", core::to_nanoseconds(session.start)},
            {"interval", session.interval.count()},
            {"flush", session.flush.count()},
            {"version", session.version},
            {"first_block", session.first_block}};
}

Result<stream::Session> session_of_json(std::string_view text) {
    try {
        const auto json = core::parse_json(text);
        stream::Session session;
        if (const auto& task = json.at("task"); !task.is_null())
            session.task = core::integer_from<int64_t>(task);
        session.periodic = json.at("periodic").get<bool>();
        session.start = core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("start")));
        session.interval = core::Duration(core::integer_from<int64_t>(json.at("interval")));
        session.flush = core::Duration(core::integer_from<int64_t>(json.at("flush")));
        session.version = json.at("version").get<std::string>();
        session.first_block = core::integer_from<uint64_t>(json.at("first_block"));
        return session;
    } catch (const nlohmann::json::exception&) {
        return bad_input("what is said of a session is malformed");
    }
}

void put_field(std::string& out, std::string_view field) {
    stream::put_varint(out, field.size());
    out += field;
}

Result<std::string_view> take_field(std::string_view& in) {
    BELAY_TRY(size, stream::take_varint(in));
    if (size > in.size()) return bad_input("a field ends early");
    const std::string_view field = in.substr(0, static_cast<size_t>(size));
    in.remove_prefix(static_cast<size_t>(size));
    return field;
}

}  // namespace

std::string encode_packed_facts(const PackedFacts& facts) {
    nlohmann::json lost = nlohmann::json::array();
    for (const LostPart& part : facts.lost)
        lost.push_back({{"file", core::to_valid_utf8(part.file)},
                        {"at", part.at},
                        {"bytes", part.bytes},
                        {"reason", core::to_valid_utf8(part.reason)}});
    return dumped({{"tier", std::string(tier_name(facts.tier))},
                   {"writer", facts.writer},
                   {"logs", facts.logs},
                   {"replaces", facts.replaces},
                   {"arrived_from", core::to_nanoseconds(facts.arrived_from)},
                   {"arrived_until", core::to_nanoseconds(facts.arrived_until)},
                   {"lost", std::move(lost)},
                   {"tables", json_of_tables(facts.tier)}});
}

Result<PackedFacts> decode_packed_facts(std::string_view payload) {
    try {
        const auto json = core::parse_json(payload);
        PackedFacts facts;
        const auto tier = tier_named(json.at("tier").get<std::string>());
        if (!tier) return bad_input("it is of an unknown tier");
        facts.tier = *tier;
        facts.writer = json.at("writer").get<std::string>();
        facts.logs = json.at("logs").get<std::vector<std::string>>();
        facts.replaces = json.at("replaces").get<std::vector<std::string>>();
        facts.arrived_from =
            core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("arrived_from")));
        facts.arrived_until =
            core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("arrived_until")));
        for (const auto& part : json.at("lost"))
            facts.lost.push_back({.file = part.at("file").get<std::string>(),
                                  .at = core::integer_from<uint64_t>(part.at("at")),
                                  .bytes = core::integer_from<uint64_t>(part.at("bytes")),
                                  .reason = part.at("reason").get<std::string>()});
        BELAY_TRY(schema, schema_of_json(facts.tier, json.at("tables")));
        facts.schema = std::move(schema);
        return facts;
    } catch (const nlohmann::json::exception&) {
        return bad_input("the facts of a packed file are malformed");
    }
}

stream::WrittenSchema own_schema_of(Tier tier) {
    stream::WrittenSchema schema;
    for (const schema::Table* table : tables_of(tier)) {
        stream::WrittenTable written{table, {}};
        for (const schema::Column& column : table->columns)
            written.columns.push_back(matched_column(table, column.name, column.type));
        schema.push_back(std::move(written));
    }
    return schema;
}

std::string encode_packed_stream(const PackedStream& stream) {
    std::string text;
    put_field(text, stream.session.node);
    put_field(text, stream::to_text({stream.id(), stream.blocks.end()}));
    put_field(text, dumped(json_of_session(stream.session)));
    put_field(text, to_text(stream.blocks));
    return text;
}

Result<PackedStream> decode_packed_stream(std::string_view text) {
    std::array<std::string_view, 4> fields;
    for (std::string_view& field : fields) {
        BELAY_TRY(taken, take_field(text));
        field = taken;
    }
    if (!text.empty()) return bad_input("bytes after a stream");
    BELAY_TRY(cursor, stream::parse_cursor(fields[1]));
    if (cursor.stream.node != fields[0]) return bad_input("a stream of another node");
    BELAY_TRY(session, session_of_json(fields[2]));
    BELAY_TRY(blocks, parse_block_runs(fields[3]));
    session.cluster = cursor.stream.cluster;
    session.node = cursor.stream.node;
    session.boot = cursor.stream.boot;
    session.source = cursor.stream.source;
    session.began = cursor.stream.began;
    return PackedStream{.session = std::move(session), .blocks = std::move(blocks)};
}

Result<std::string_view> node_of_packed_stream(std::string_view text) {
    return take_field(text);
}

}  // namespace belay::server
