#include "database/sqlite_cursor.h"

#include "core/utf8.h"
#include "database/sqlite_error.h"

#include <sqlite3.h>
#include <utility>

namespace belay::database {

using core::Result;

namespace {

// PostgreSQL has checked what it stores; a file may hold anything.
Result<Value> text_of(std::string_view text, sqlite3_stmt* statement, int column) {
    if (!first_bad_byte(text)) return std::string(text);
    return core::system_error("SQLite: column {} of an answer holds text that is not UTF-8",
                              core::printable(sqlite3_column_name(statement, column)));
}

Result<Value> value_of(sqlite3_stmt* statement, int column) {
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_INTEGER) return int64_t{sqlite3_column_int64(statement, column)};
    if (type == SQLITE_FLOAT) return sqlite3_column_double(statement, column);
    if (type == SQLITE_NULL) return Value();
    // The pointer comes first: it may convert what the size is of.
    const void* begin =
        type == SQLITE_TEXT ? sqlite3_column_text(statement, column) : sqlite3_column_blob(statement, column);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
    const std::string_view bytes(static_cast<const char*>(size > 0 ? begin : ""), size);
    if (type == SQLITE_TEXT) return text_of(bytes, statement, column);
    return Value(Bytes(std::string(bytes)));
}

}  // namespace

SqliteCursor::SqliteCursor(SqliteConnection& connection, SqliteConnection::Statement statement)
    : connection_(&connection),
      statement_(std::move(statement)),
      changes_before_(sqlite3_total_changes64(connection.handle())) {
    sqlite3_stmt* handle = statement_->handle.get();
    for (int i = 0; i < sqlite3_column_count(handle); ++i) {
        const char* name = sqlite3_column_name(handle, i);
        columns_.emplace_back(name != nullptr ? name : "");
    }
}

SqliteCursor::~SqliteCursor() {
    if (statement_) finish();
}

// The count of changes is that of the last statement that made some.
void SqliteCursor::finish() {
    sqlite3* database = connection_->handle();
    if (sqlite3_total_changes64(database) != changes_before_) changed_ = sqlite3_changes64(database);
    connection_->keep(*std::exchange(statement_, std::nullopt));
}

Result<> SqliteCursor::step() {
    const int status = sqlite3_step(statement_->handle.get());
    if (status == SQLITE_ROW) return {};
    if (status == SQLITE_DONE) {
        finish();
        return {};
    }
    auto error = sqlite_error(connection_->handle(), status, "SQLite");
    statement_.reset();
    return std::unexpected(std::move(error));
}

Result<bool> SqliteCursor::next(Row& row) {
    if (!statement_) return false;
    sqlite3_stmt* handle = statement_->handle.get();
    row.values().clear();
    for (int i = 0; i < sqlite3_column_count(handle); ++i) {
        BELAY_TRY(value, value_of(handle, i));
        row.values().push_back(std::move(value));
    }
    BELAY_CHECK(step());
    return true;
}

}  // namespace belay::database
