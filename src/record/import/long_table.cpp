#include "record/import/long_table.h"

#include "record/archive/parquet_file.h"
#include "record/place.h"

#include <fcntl.h>

namespace belay::record {

using core::Result;

Result<LongTable> LongTable::create(const schema::Table& table, core::Directory directory,
                                    int64_t part_rows) {
    BELAY_TRY(database, Database::open());
    BELAY_CHECK(database.execute(create_table_sql(table)));
    return LongTable(table, std::move(directory), std::move(database), part_rows);
}

Result<> LongTable::add(const stream::Batch& batch) {
    BELAY_CHECK(database_.append(batch));
    rows_ += static_cast<int64_t>(batch.rows());
    held_ += static_cast<int64_t>(batch.rows());
    return {};
}

Result<> LongTable::cut() {
    return held_ >= part_rows_ ? write_part() : Result<>();
}

// Beneath the directory itself, whatever has its path by now. There may be more parts than descriptors.
std::string LongTable::sql_name(const std::string& part) const {
    return sql_literal(fmt::format("/proc/self/fd/{}/{}", directory_.fd(), part));
}

Result<> LongTable::write_part() {
    parts_.push_back(fmt::format("{}.parquet", parts_.size()));
    BELAY_CHECK(database_.execute(fmt::format(
        "COPY (SELECT * FROM \"{}\" ORDER BY node, time) TO {} (FORMAT parquet, COMPRESSION zstd)",
        table_->name, sql_name(parts_.back()))));
    held_ = 0;
    // DELETE would keep the memory.
    return database_.execute(fmt::format("DROP TABLE \"{}\"; {}", table_->name, create_table_sql(*table_)));
}

Result<> LongTable::replace(const core::Directory& record, std::string_view name) {
    if (held_ > 0 || parts_.empty()) BELAY_CHECK(write_part());
    BELAY_TRY(empty, record.open_file(name, O_RDONLY));
    BELAY_TRY(documentation,
              parquet_metadata(database_, database_.lend(empty.get(), record.path_of(name)), "belay"));
    // Several threads would each hold what has to wait for its turn in the order.
    BELAY_CHECK(database_.execute("SET threads = 1"));
    std::string parts;
    for (const std::string& part : parts_) parts += (parts.empty() ? "" : ", ") + sql_name(part);
    BELAY_TRY(file, begin_file(record, name));
    BELAY_CHECK(write_rows(database_, fmt::format("SELECT * FROM read_parquet([{}])", parts), std::move(file),
                           {{"belay", documentation}}));
    for (const std::string& part : parts_) BELAY_CHECK(directory_.remove_file(part));
    return {};
}

}  // namespace belay::record
