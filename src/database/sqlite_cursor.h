// The rows of one statement of SQLite.
#pragma once

#include "database/sqlite_connection.h"

#include <optional>

namespace belay::database {

class SqliteCursor : public Cursor {
  public:
    SqliteCursor(SqliteConnection& connection, SqliteConnection::Statement statement);
    SqliteCursor(const SqliteCursor&) = delete;
    SqliteCursor& operator=(const SqliteCursor&) = delete;
    ~SqliteCursor() override;

    // On to the next row, or to the end. Done once before next(): the first step is what changes rows.
    core::Result<> step();
    core::Result<bool> next(Row& row) override;
    bool is_at_end() const override { return !statement_; }
    int64_t changed() const override { return changed_; }

  private:
    void finish();

    SqliteConnection* connection_;
    std::optional<SqliteConnection::Statement> statement_;  // nothing at the end: it has been given back
    int64_t changes_before_ = 0;
    int64_t changed_ = 0;
};

}  // namespace belay::database
