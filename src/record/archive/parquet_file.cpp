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
    fs::path temporary = file;
    temporary += ".tmp";
    BELAY_CHECK(database.execute(fmt::format(
        "COPY (SELECT * FROM \"{}\" ORDER BY node, time) TO {} (FORMAT parquet, COMPRESSION zstd, "
        "KV_METADATA {{belay: {}, belay_facts: {}}})",
        table.name, sql_literal(temporary.string()), sql_literal(table_metadata(table)),
        sql_literal(facts))));
    BELAY_CHECK(sync_file(temporary));
    if (rename(temporary.c_str(), file.c_str()) != 0)
        return core::errno_error(errno, fmt::format("cannot rename {}", temporary.string()));
    return {};
}

Result<std::string> parquet_facts(Database& database, const fs::path& file) {
    BELAY_TRY(facts,
              database.query(fmt::format(
                  "SELECT decode(value) FROM parquet_kv_metadata({}) WHERE decode(key) = 'belay_facts'",
                  sql_literal(file.string()))));
    return facts.rows.empty() ? std::string() : as_text(facts.rows[0][0]);
}

}  // namespace belay::record
