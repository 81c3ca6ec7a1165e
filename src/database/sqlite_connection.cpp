#include "database/sqlite_connection.h"

#include "core/file.h"
#include "database/cause.h"
#include "database/sql.h"
#include "database/sqlite_cursor.h"
#include "database/sqlite_error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sqlite3.h>
#include <thread>
#include <utility>

namespace belay::database {

using core::Cause;
using core::Deadline;
using core::Result;

namespace {

constexpr size_t kMostStatements = 256;     // kept for the next time, by each connection
constexpr int kInstructionsPerLook = 2000;  // of SQLite's virtual machine, between looks at the clock
// A row is stored as one value.
constexpr int kLongestSqliteRow = static_cast<int>(kMostParameterBytes + kLongestValue);

int go_on_waiting(void* deadline, int tries) {
    const auto& until = *static_cast<const Deadline*>(deadline);
    if (until.is_over()) return 0;
    const core::Duration pause = std::chrono::milliseconds(std::min(1 + tries, 20));
    std::this_thread::sleep_for(std::min(pause, until.left()));
    return 1;
}

int stop_at_deadline(void* deadline) {
    return static_cast<const Deadline*>(deadline)->is_over() ? 1 : 0;
}

// Its write-ahead log gets the same permissions. A file that is there is not opened here: to close it would let go of the locks
// that other connections of this process have on it (fcntl(2)).
Result<> make_file(const std::filesystem::path& file) {
    auto made = core::open_file(file, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (!made && made.error().errno_value() != EEXIST) return std::unexpected(std::move(made.error()));
    return {};
}

std::string about(sqlite3* database) {
    const char* file = sqlite3_db_filename(database, "main");
    return fmt::format("SQLite {}", file != nullptr ? file : "");
}

const char* begin_sql(Access access) {
    switch (access) {
        case Access::kRead:
            return "BEGIN";
        case Access::kWrite:
            // At once: a transaction that reads first and then cannot write would have read in vain.
            return "BEGIN IMMEDIATE";
        case Access::kMigration:
            return "BEGIN EXCLUSIVE";
    }
    return "BEGIN";
}

int bind_value(sqlite3_stmt* statement, int index, const Value& value) {
    if (const auto* integer = std::get_if<int64_t>(&value))
        return sqlite3_bind_int64(statement, index, *integer);
    if (const auto* number = std::get_if<double>(&value))
        return sqlite3_bind_double(statement, index, *number);
    if (const auto* text = std::get_if<std::string>(&value))
        return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    if (const auto* bytes = std::get_if<Bytes>(&value)) {
        if (bytes->data.empty()) return sqlite3_bind_zeroblob(statement, index, 0);
        return sqlite3_bind_blob64(statement, index, bytes->data.data(), bytes->data.size(),
                                   SQLITE_TRANSIENT);
    }
    return sqlite3_bind_null(statement, index);
}

}  // namespace

void CloseSqlite::operator()(sqlite3* database) const {
    sqlite3_close_v2(database);
}
void CloseSqlite::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Result<SqliteHandle> open_sqlite(const std::filesystem::path& file) {
    sqlite3* opened = nullptr;
    constexpr int kFlags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    const int status = sqlite3_open_v2(file.c_str(), &opened, kFlags, nullptr);
    SqliteHandle database(opened);  // also of one that failed
    if (status != SQLITE_OK)
        return std::unexpected(sqlite_error(opened, status, fmt::format("cannot open {}", file.string())));
    // A file from elsewhere may hold a schema that was made to harm: it runs no functions with effects and is not written to.
    // Words in double quotes are names, as in PostgreSQL.
    constexpr std::pair<int, int> kSettings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                 {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                 {SQLITE_DBCONFIG_DQS_DML, 0},
                                                 {SQLITE_DBCONFIG_DQS_DDL, 0}};
    for (const auto& [setting, value] : kSettings) sqlite3_db_config(opened, setting, value, nullptr);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestSqliteRow);
    return database;
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::filesystem::path& file,
                                                                 SqliteRole role, const Deadline& deadline) {
    if (role == SqliteRole::kWriter) BELAY_CHECK(make_file(file));
    BELAY_TRY(handle, open_sqlite(file));
    std::unique_ptr<SqliteConnection> connection(new SqliteConnection(std::move(handle)));
    connection->deadline_ = deadline;
    BELAY_CHECK(connection->configure(role));
    return connection;
}

Result<> SqliteConnection::configure(SqliteRole role) {
    sqlite3_busy_handler(handle(), &go_on_waiting, &deadline_);
    sqlite3_progress_handler(handle(), kInstructionsPerLook, &stop_at_deadline, &deadline_);
    if (role == SqliteRole::kWriter) BELAY_CHECK(use_write_ahead_log());
    // What is committed survives a loss of power, and LIKE tells letters apart as PostgreSQL's does.
    BELAY_CHECK(
        execute_own("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA case_sensitive_like = ON;"
                    "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864"));
    return role == SqliteRole::kReader ? execute_own("PRAGMA query_only = ON") : Result<>();
}

// Two that do this at once get SQLITE_BUSY without the handler being asked.
Result<> SqliteConnection::use_write_ahead_log() {
    for (int tries = 0;; ++tries) {
        auto set = execute_own("PRAGMA journal_mode = WAL");
        if (set) break;
        if (set.error().cause() != kConflict || go_on_waiting(&deadline_, tries) == 0) return set;
    }
    std::string mode;
    auto note = [](void* text, int, char** values, char**) {
        *static_cast<std::string*>(text) = values[0] != nullptr ? values[0] : "";
        return 0;
    };
    if (int status = sqlite3_exec(handle(), "PRAGMA journal_mode", note, &mode, nullptr); status != SQLITE_OK)
        return std::unexpected(sqlite_error(handle(), status, about(handle())));
    if (mode == "wal") return {};
    return core::system_error("{}: its file system takes no write-ahead log", about(handle()))
        .hint("put the file on a file system of this machine");
}

Result<> SqliteConnection::execute_own(const char* sql) {
    int status = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
    if (status == SQLITE_OK) return {};
    return std::unexpected(sqlite_error(handle(), status, about(handle())));
}

Result<> SqliteConnection::begin(Access access, const Deadline& deadline) {
    deadline_ = deadline;
    return execute_own(begin_sql(access));
}

Result<> SqliteConnection::commit() {
    return execute_own("COMMIT");
}

void SqliteConnection::rollback() {
    deadline_ = Deadline::never();
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(handle()) == 0) sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

bool SqliteConnection::is_usable() {
    return sqlite3_get_autocommit(handle()) != 0;
}

Result<SqliteConnection::Statement> SqliteConnection::prepared(std::string_view sql) {
    if (auto kept = statements_.find(sql); kept != statements_.end()) {
        Statement statement = std::move(kept->second);
        statements_.erase(kept);
        return statement;
    }
    BELAY_TRY(native, to_native(sql, Engine::kSqlite));
    sqlite3_stmt* made = nullptr;
    int status = sqlite3_prepare_v3(handle(), native.sql.c_str(), static_cast<int>(native.sql.size()) + 1,
                                    SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (status != SQLITE_OK) return std::unexpected(sqlite_error(handle(), status, about(handle())));
    Statement statement{.handle = {}, .parameters = native.parameters, .sql = std::string(sql)};
    statement.handle.reset(made);
    return statement;
}

Result<> SqliteConnection::bind(const Statement& statement, const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) {
        int status = bind_value(statement.handle.get(), static_cast<int>(i) + 1, values[i]);
        if (status != SQLITE_OK) return std::unexpected(sqlite_error(handle(), status, about(handle())));
    }
    return {};
}

Result<std::unique_ptr<Cursor>> SqliteConnection::run(std::string_view sql, const Values& values,
                                                      const Deadline& deadline) {
    deadline_ = deadline;
    BELAY_TRY(statement, prepared(sql));
    BELAY_CHECK(check_parameters(values, statement.parameters));
    BELAY_CHECK(bind(statement, values));
    auto cursor = std::make_unique<SqliteCursor>(*this, std::move(statement));
    BELAY_CHECK(cursor->step());
    return cursor;
}

void SqliteConnection::keep(Statement statement) {
    sqlite3_reset(statement.handle.get());
    sqlite3_clear_bindings(statement.handle.get());
    if (statements_.size() >= kMostStatements) statements_.clear();
    std::string sql = statement.sql;
    statements_.insert_or_assign(std::move(sql), std::move(statement));
}

}  // namespace belay::database
