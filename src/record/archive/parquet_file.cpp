#include "record/archive/parquet_file.h"

#include <nlohmann/json.hpp>

namespace belay::record {

using core::Result;

namespace {

// Parquet files carry the schema with units and meanings, so that they explain themselves without Belay.
std::string table_metadata(const schema::Table& table) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::object();
    for (const schema::Column& column : table.columns)
        columns[std::string(column.name)] = {{"unit", std::string(column.unit)},
                                             {"doc", std::string(column.doc)}};
    nlohmann::ordered_json json = {{"table", std::string(table.name)},
                                   {"version", table.version},
                                   {"doc", std::string(table.doc)},
                                   {"columns", columns}};
    return json.dump();
}

}  // namespace

Result<> write_parquet(Database& database, const schema::Table& table, RowOrder order, core::NewFile file,
                       std::string_view facts) {
    const std::string_view sort = order == RowOrder::kSort ? " ORDER BY node, time" : "";
    return write_rows(database, fmt::format("SELECT * FROM \"{}\"{}", table.name, sort), std::move(file),
                      {{"belay", table_metadata(table)}, {"belay_facts", std::string(facts)}});
}

Result<> write_rows(Database& database, std::string_view select, core::NewFile file,
                    const std::map<std::string, std::string>& metadata) {
    std::string pairs;
    for (const auto& [key, value] : metadata)
        pairs += fmt::format("{}{}: {}", pairs.empty() ? "" : ", ", key, sql_literal(value));
    // The file itself, whatever somebody has put in the place of its name; DuckDB would also make one beside
    // it.
    BELAY_CHECK(database.execute(fmt::format(
        "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA {{{}}})", select,
        database.lend(file.fd(), file.path()), pairs)));
    return std::move(file).replace();
}

Result<std::string> parquet_metadata(Database& database, const std::string& lent, std::string_view key) {
    BELAY_TRY(values, database.query(fmt::format("SELECT decode(value) FROM parquet_kv_metadata({}) "
                                                 "WHERE decode(key) = {}",
                                                 lent, sql_literal(key))));
    return values.rows.empty() ? std::string() : as_text(values.rows[0][0]);
}

Result<std::string> parquet_facts(Database& database, const std::string& lent) {
    return parquet_metadata(database, lent, "belay_facts");
}

}  // namespace belay::record
