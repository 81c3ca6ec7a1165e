// One DuckDB database in memory, and what a query answers as plain values.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/archive/duckdb_api.h"
#include "record/archive/duckdb_error.h"
#include "record/archive/duckdb_guards.h"
#include "record/archive/query_limits.h"
#include "record/archive/row_source.h"
#include "record/archive/scan.h"
#include "stream/batch.h"

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace belay::record {

using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string, core::Time>;  // monostate: null

struct QueryResult {
    std::vector<std::string> columns;
    std::vector<std::vector<Value>> rows;
};

// A number as double, whichever numeric type it has; NaN for null and for what is not a number.
double as_double(const Value& value);
// Text, or "" for anything else.
std::string as_text(const Value& value);

// Not thread-safe. No extension is ever fetched or loaded.
class Database {
  public:
    // `threads`: 0 for as many as there are cores. No temporary files: what does not fit into memory fails.
    static core::Result<Database> open(int threads = 0, const QueryLimits& limits = {});
    Database(Database&& other) noexcept;
    Database& operator=(Database&&) = delete;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database();

    // Runs statements and drops their answer. Errors: kSystem with DuckDB's message.
    core::Result<> execute(const std::string& sql);

    // Runs one query of our own. Integers of any width that fit come as int64_t, wider ones and decimals as
    // double; types that have no plain value (lists, structs) as text. Errors: kSystem where a file could not
    // be read or a limit was reached, because of kTimedOut or ENOMEM; kBadInput for a damaged file.
    core::Result<QueryResult> query(const std::string& sql) { return run_query(sql, Statement::kOwnQuery); }

    // The same for SQL that a person wrote. Errors: kBadInput with DuckDB's message for what is wrong with
    // it, also where it reached a limit; kSystem where a file could not be read.
    core::Result<QueryResult> query_of_person(const std::string& sql) {
        return run_query(sql, Statement::kQuery);
    }

    // The names of the columns that the query would give. Errors: as of query() or query_of_person().
    core::Result<std::vector<std::string>> columns_of(const std::string& sql, Statement statement);

    // Runs the SQL that scan_sql() made and hands on what comes, chunk by chunk. A database with one thread
    // holds no more than a chunk; one with several, whose connections DuckDB 1.4 lets crash while they
    // stream, all. Errors: kBadInput for a damaged file; kSystem with its cause; those of `consume`.
    core::Result<> scan(const std::string& sql, const ScanRequest& request,
                        const std::function<core::Result<>(const ScanRows&)>& consume);

    // Adds rows to the table of the batch's name, which create_table_sql() made.
    core::Result<> append(const stream::Batch& batch);

    // An open file as SQL names it: a literal, which leads to this very file whatever has its path by now, as
    // long as the descriptor is open. Messages say the path.
    std::string lend(int fd, const std::filesystem::path& path);

    // Makes NAME() a table function that reads the source. Errors: kSystem.
    core::Result<> register_rows(const std::string& name, RowSource source);

    // From here on SQL can reach files that were lent, no other, and no setting can be changed.
    core::Result<> confine();

  private:
    Database(const DuckdbApi* api, duckdb_database database, duckdb_connection connection, bool streams,
             const QueryLimits& limits)
        : api_(api), database_(database), connection_(connection), streams_(streams), limits_(limits) {}
    core::Result<QueryResult> run_query(const std::string& sql, Statement statement);
    core::Error error_of(duckdb_result& result, Statement statement) const;
    core::Result<> prepare_select(const std::string& sql, Statement statement, StatementGuard& guard) const;

    const DuckdbApi* api_;
    duckdb_database database_;
    duckdb_connection connection_;
    bool streams_;
    QueryLimits limits_;
    LentFiles lent_;
    std::shared_ptr<RowFailure> row_failure_ = std::make_shared<RowFailure>();
};

// VALUES (...), (...): the rows of an answer, of which there must be some, as SQL.
std::string values_sql(const QueryResult& answer);

// 'text' as an SQL literal, quotes doubled.
std::string sql_literal(std::string_view text);

}  // namespace belay::record
