#include "record/archive/parquet_file.h"

#include "core/file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

// Parquet files carry the schema with units and meanings, so that they explain themselves without Belay.
std::string table_metadata(const Table& table) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::object();
    for (const Column& column : table.columns)
        columns[std::string(column.name)] = {{"unit", std::string(column.unit)},
                                             {"doc", std::string(column.doc)}};
    nlohmann::ordered_json json = {
        {"table", std::string(table.name)}, {"doc", std::string(table.doc)}, {"columns", columns}};
    return json.dump();
}

Result<> sync_file(const fs::path& path) {
    BELAY_TRY(fd, core::open_file(path, O_RDONLY));
    if (fsync(fd.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path.string()));
    return {};
}

}  // namespace

Result<> write_parquet(Database& database, const Table& table, const fs::path& file, std::string_view facts) {
    return write_rows(database, fmt::format("SELECT * FROM \"{}\" ORDER BY node, time", table.name), file,
                      {{"belay", table_metadata(table)}, {"belay_facts", std::string(facts)}});
}

Result<> write_rows(Database& database, std::string_view select, const fs::path& file,
                    const std::map<std::string, std::string>& metadata) {
    fs::path temporary = file;
    temporary += ".tmp";
    std::string pairs;
    for (const auto& [key, value] : metadata)
        pairs += fmt::format("{}{}: {}", pairs.empty() ? "" : ", ", key, sql_literal(value));
    BELAY_CHECK(
        database.execute(fmt::format("COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{}}})",
                                     select, sql_literal(temporary.string()), pairs)));
    BELAY_CHECK(sync_file(temporary));
    if (rename(temporary.c_str(), file.c_str()) != 0)
        return core::errno_error(errno, fmt::format("cannot rename {}", temporary.string()));
    return {};
}

Result<std::string> parquet_metadata(Database& database, const fs::path& file, std::string_view key) {
    BELAY_TRY(values, database.query(fmt::format("SELECT decode(value) FROM parquet_kv_metadata({}) "
                                                 "WHERE decode(key) = {}",
                                                 sql_file(file), sql_literal(key))));
    return values.rows.empty() ? std::string() : as_text(values.rows[0][0]);
}

Result<std::string> parquet_facts(Database& database, const fs::path& file) {
    return parquet_metadata(database, file, "belay_facts");
}

}  // namespace belay::record
