#include "record/import/long_table.h"

#include "core/file.h"
#include "record/archive/parquet_file.h"

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

std::string list_of(const std::vector<fs::path>& files) {
    std::string list;
    for (const fs::path& file : files) list += (list.empty() ? "" : ", ") + sql_file(file);
    return "[" + list + "]";
}

}  // namespace

Result<LongTable> LongTable::create(const Table& table, const fs::path& directory, int64_t part_rows) {
    BELAY_CHECK(core::make_directories(directory));
    BELAY_TRY(database, Database::open());
    BELAY_CHECK(database.execute(create_table_sql(table)));
    return LongTable(table, directory, std::move(database), part_rows);
}

Result<> LongTable::add(const Batch& batch) {
    BELAY_CHECK(database_.append(batch));
    rows_ += static_cast<int64_t>(batch.rows());
    held_ += static_cast<int64_t>(batch.rows());
    return {};
}

Result<> LongTable::cut() {
    return held_ >= part_rows_ ? write_part() : Result<>();
}

Result<> LongTable::write_part() {
    parts_.push_back(directory_ / fmt::format("{}.parquet", parts_.size()));
    BELAY_CHECK(database_.execute(fmt::format(
        "COPY (SELECT * FROM \"{}\" ORDER BY node, time) TO {} (FORMAT parquet, COMPRESSION zstd)",
        table_->name, sql_literal(parts_.back().string()))));
    held_ = 0;
    // DELETE would keep the memory.
    return database_.execute(fmt::format("DROP TABLE \"{}\"; {}", table_->name, create_table_sql(*table_)));
}

Result<> LongTable::replace(const fs::path& parquet) {
    if (held_ > 0 || parts_.empty()) BELAY_CHECK(write_part());
    BELAY_TRY(documentation, parquet_metadata(database_, parquet, "belay"));
    // Several threads would each hold what has to wait for its turn in the order.
    BELAY_CHECK(database_.execute("SET threads = 1"));
    BELAY_CHECK(write_rows(database_, fmt::format("SELECT * FROM read_parquet({})", list_of(parts_)), parquet,
                           {{"belay", documentation}}));
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    return core::sync_directory(parquet.parent_path());
}

}  // namespace belay::record
