// What a function that Database::write or Database::read runs does its work with.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/connection.h"
#include "database/sql.h"
#include "database/value.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::database {

// Of query_all(): who may get more takes them one by one.
inline constexpr size_t kMostRows = 10'000;

class Transaction;

// The rows of a query, of which it holds one at a time. Before the next statement it must be read to its end, or be gone. To
// be rid of it before its end takes as long as PostgreSQL takes to send the rest: write LIMIT. Lives no longer than its
// transaction.
class Rows {
  public:
    Rows(Transaction& transaction, std::shared_ptr<Cursor> cursor)
        : transaction_(&transaction), cursor_(std::move(cursor)) {}

    // Null at the end; until the next call. Errors: as of Transaction::query.
    core::Result<const Row*> next();
    const std::vector<std::string>& columns() const { return cursor_->columns(); }

  private:
    friend class Transaction;
    Transaction* transaction_;
    std::shared_ptr<Cursor> cursor_;
    Row row_;
};

// After a statement that failed nothing more runs and nothing will be committed, as PostgreSQL has it: where a row may be
// there already, write ON CONFLICT. One thread.
class Transaction {
  public:
    Transaction(Engine engine, Connection& connection, const core::Deadline& deadline)
        : engine_(engine), connection_(&connection), deadline_(deadline) {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    // How many rows were inserted, updated or deleted. Rows that it answers are dropped. Errors: those of Connection::run.
    core::Result<int64_t> execute(std::string_view sql, const Values& values = {});
    core::Result<Rows> query(std::string_view sql, const Values& values = {});
    // The first row, or nothing.
    core::Result<std::optional<Row>> query_row(std::string_view sql, const Values& values = {});
    // Errors: also kBadInput where there are more than kMostRows.
    core::Result<std::vector<Row>> query_all(std::string_view sql, const Values& values = {});

    Engine engine() const { return engine_; }
    const core::Deadline& deadline() const { return deadline_; }
    // Of the first statement that failed.
    const std::optional<core::Error>& failure() const { return failure_; }
    // Whether there are rows of a query that were neither read to their end nor given up.
    bool has_open_rows() const;

  private:
    friend class Rows;
    core::Result<std::shared_ptr<Cursor>> run(std::string_view sql, const Values& values);
    core::Error fail(core::Error error);

    Engine engine_;
    Connection* connection_;
    core::Deadline deadline_;
    std::optional<core::Error> failure_;
    std::weak_ptr<Cursor> open_;
};

}  // namespace belay::database
