// A connection to a file of SQLite, in WAL mode: readers see a snapshot and do not wait for the one that writes.
#pragma once

#include "core/deadline.h"
#include "database/connection.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;       // sqlite3.h
struct sqlite3_stmt;  // sqlite3.h

namespace belay::database {

struct CloseSqlite {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
};
using SqliteHandle = std::unique_ptr<sqlite3, CloseSqlite>;

// Opens what is there. Errors: kSystem, kBadInput for what is not a database.
core::Result<SqliteHandle> open_sqlite(const std::filesystem::path& file);

enum class SqliteRole { kReader, kWriter };

class SqliteConnection : public Connection {
  public:
    // A writer makes a file that is not there, for its owner only, and puts it into WAL mode. Errors: those of
    // Database::open.
    static core::Result<std::unique_ptr<SqliteConnection>> open(const std::filesystem::path& file,
                                                                SqliteRole role,
                                                                const core::Deadline& deadline);

    core::Result<> begin(Access access, const core::Deadline& deadline) override;
    core::Result<> commit() override;
    void rollback() override;
    core::Result<std::unique_ptr<Cursor>> run(std::string_view sql, const Values& values,
                                              const core::Deadline& deadline) override;
    bool is_usable() override;

    sqlite3* handle() const { return database_.get(); }

  private:
    friend class SqliteCursor;
    struct Statement {
        std::unique_ptr<sqlite3_stmt, CloseSqlite> handle;
        size_t parameters = 0;
        std::string sql;  // the portable one
    };
    explicit SqliteConnection(SqliteHandle database) : database_(std::move(database)) {}

    core::Result<> configure(SqliteRole role);
    core::Result<> use_write_ahead_log();
    core::Result<> execute_own(const char* sql);
    core::Result<Statement> prepared(std::string_view sql);
    core::Result<> bind(const Statement& statement, const Values& values);
    void keep(Statement statement);

    // Until when the call that runs now may wait. Handlers of the handle look at it, also while that is closed.
    core::Deadline deadline_;
    SqliteHandle database_;
    std::map<std::string, Statement, std::less<>> statements_;  // those not in use
};

}  // namespace belay::database
