#include "record/archive/database.h"

#include "record/archive/duckdb_guards.h"
#include "record/archive/duckdb_values.h"

#include <cerrno>
#include <new>
#include <utility>

namespace belay::record {

using core::Result;

namespace {

std::vector<std::string> column_names(const DuckdbApi* api, duckdb_prepared_statement statement) {
    std::vector<std::string> names;
    for (idx_t i = 0; i < api->prepared_statement_column_count(statement); ++i) {
        const char* name = api->prepared_statement_column_name(statement, i);
        names.emplace_back(name != nullptr ? name : "");
        api->free(const_cast<char*>(name));  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is ours
    }
    return names;
}

// The same query with those columns cast that have no plain value: decimals to DOUBLE, the rest to text. An
// empty string if there are none. DuckDB's query() takes the SQL as it was written, comments and all; the
// columns are named by their place, since two of them may have one name.
std::string with_plain_columns(const DuckdbApi* api, duckdb_prepared_statement statement,
                               const std::string& sql) {
    std::string names;
    std::string casts;
    bool all_plain = true;
    for (idx_t i = 0; i < api->prepared_statement_column_count(statement); ++i) {
        duckdb_type type = api->prepared_statement_column_type(statement, i);
        const char* comma = i == 0 ? "" : ", ";
        names += fmt::format("{}c{}", comma, i);
        if (is_plain(type))
            casts += fmt::format("{}c{}", comma, i);
        else
            casts += fmt::format("{}CAST(c{} AS {})", comma, i,
                                 type == DUCKDB_TYPE_DECIMAL ? "DOUBLE" : "VARCHAR");
        all_plain = all_plain && is_plain(type);
    }
    if (all_plain) return {};
    return fmt::format("SELECT {} FROM query({}) AS answer({})", casts, sql_literal(sql), names);
}

}  // namespace

Result<Database> Database::open(int threads, const QueryLimits& limits) {
    BELAY_TRY(api, duckdb_api());
    ConfigGuard config{api};
    if (api->create_config(&config.config) != DuckDBSuccess)
        return core::system_error("DuckDB: out of memory").because_of_errno(ENOMEM);
    std::vector<std::pair<const char*, std::string>> settings = {
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        // Nothing is written where the caller stands, nor read: a link of that name may lie there.
        {"temp_directory", ""}};
    if (threads > 0) settings.emplace_back("threads", std::to_string(threads));
    if (limits.memory) settings.emplace_back("memory_limit", fmt::format("{}B", limits.memory->bytes));
    for (const auto& [name, value] : settings)
        if (api->set_config(config.config, name, value.c_str()) != DuckDBSuccess)
            return core::system_error("DuckDB does not take {} for its setting {}", value, name);
    duckdb_database database = nullptr;
    char* message = nullptr;
    if (api->open_ext(nullptr, &database, config.config, &message) != DuckDBSuccess) {
        std::string why = message != nullptr ? message : "no reason given";
        api->free(message);
        return core::system_error("cannot start DuckDB: {}", why);
    }
    duckdb_connection connection = nullptr;
    if (api->connect(database, &connection) != DuckDBSuccess) {
        api->close(&database);
        return core::system_error("cannot connect to DuckDB");
    }
    Database opened(api, database, connection, threads == 1, limits);
    BELAY_CHECK(opened.execute(kTellErrorsAsJson));
    return opened;
}

Database::Database(Database&& other) noexcept
    : api_(other.api_),
      database_(std::exchange(other.database_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)),
      streams_(other.streams_),
      limits_(other.limits_),
      lent_(std::move(other.lent_)),
      row_failure_(other.row_failure_) {}

Database::~Database() {
    if (connection_ != nullptr) api_->disconnect(&connection_);
    if (database_ != nullptr) api_->close(&database_);
}

Result<> Database::execute(const std::string& sql) {
    ResultGuard result{api_};
    if (api_->query(connection_, sql.c_str(), &result.result) != DuckDBSuccess)
        return std::unexpected(error_of(result.result, Statement::kOwn).context("DuckDB"));
    return {};
}

core::Error Database::error_of(duckdb_result& result, Statement statement) const {
    if (auto failed = row_failure_->take()) return std::move(*failed);
    return duckdb_error(api_->result_error_type(&result), api_->result_error(&result), statement, limits_,
                        lent_);
}

// SQL that may run: a SELECT. Files that may be read may also be written, so nothing else may; EXPLAIN
// ANALYZE runs what it explains.
Result<> Database::prepare_select(const std::string& sql, Statement statement, StatementGuard& guard) const {
    if (api_->prepare(connection_, sql.c_str(), &guard.statement) != DuckDBSuccess)
        return std::unexpected(duckdb_error(DUCKDB_ERROR_INVALID, api_->prepare_error(guard.statement),
                                            statement, limits_, lent_));
    if (api_->prepared_statement_type(guard.statement) != DUCKDB_STATEMENT_TYPE_SELECT)
        return core::bad_input("a record can only be read").hint("write one SELECT statement");
    return {};
}

Result<QueryResult> Database::run_query(const std::string& sql, Statement statement) try {
    const Interrupter interrupter(api_, connection_, statement, limits_);
    const MemoryLimit memory(limits_.memory);
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(sql, statement, asked));
    std::string plain = with_plain_columns(api_, asked.statement, sql);
    StatementGuard cast{api_};
    if (!plain.empty())
        BELAY_CHECK(core::with_context(prepare_select(plain, statement, cast),
                                       "a column that is neither a number, a text nor a time"));
    ResultGuard result{api_};
    duckdb_prepared_statement prepared = plain.empty() ? asked.statement : cast.statement;
    if (api_->execute_prepared(prepared, &result.result) != DuckDBSuccess)
        return std::unexpected(error_of(result.result, statement));
    auto rows = read_result(api_, result.result, column_names(api_, asked.statement), limits_.memory);
    if (!rows) return std::unexpected(too_large(statement, limits_));
    return std::move(*rows);
} catch (const std::bad_alloc&) {
    return std::unexpected(too_large(statement, limits_));
}

Result<> Database::scan(const std::string& sql, const ScanRequest& request,
                        const std::function<Result<>(const ScanRows&)>& consume) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(sql, Statement::kScan, asked));
    ResultGuard result{api_};
    auto run = streams_ ? api_->execute_prepared_streaming : api_->execute_prepared;
    if (run(asked.statement, &result.result) != DuckDBSuccess)
        return std::unexpected(error_of(result.result, Statement::kScan));
    while (duckdb_data_chunk raw = api_->fetch_chunk(result.result)) {
        ChunkGuard chunk{api_, raw};
        BELAY_CHECK(consume(ScanRows(api_, raw, request)));
    }
    // What a stream meets on its way (a damaged page) is told at its end only.
    if (api_->result_error_type(&result.result) != DUCKDB_ERROR_INVALID)
        return std::unexpected(error_of(result.result, Statement::kScan));
    return {};
}

Result<std::vector<std::string>> Database::columns_of(const std::string& sql, Statement statement) try {
    std::optional<Interrupter> interrupter;
    std::optional<MemoryLimit> memory;
    if (statement == Statement::kQuery) {  // ours has no constants that take long
        interrupter.emplace(api_, connection_, statement, limits_);
        memory.emplace(limits_.memory);
    }
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(sql, statement, asked));
    return column_names(api_, asked.statement);
} catch (const std::bad_alloc&) {
    return std::unexpected(too_large(statement, limits_));
}

Result<> Database::append(const stream::Batch& batch) {
    AppenderGuard guard{api_};
    std::string table(batch.table().name);
    duckdb_state state = api_->appender_create(connection_, nullptr, table.c_str(), &guard.appender);
    for (size_t row = 0; row < batch.rows() && state == DuckDBSuccess; ++row) {
        for (size_t i = 0; i < batch.table().columns.size() && state == DuckDBSuccess; ++i)
            state = append_value(api_, guard.appender, batch.table().columns[i].type, batch.values(i), row);
        if (state == DuckDBSuccess) state = api_->appender_end_row(guard.appender);
    }
    if (state == DuckDBSuccess) state = api_->appender_close(guard.appender);  // flushes
    if (state == DuckDBSuccess) return {};
    const std::string what = fmt::format("cannot add rows to table {}", table);
    if (guard.appender == nullptr) return core::system_error("{}", what);
    const ErrorDataGuard why{api_, api_->appender_error_data(guard.appender)};
    return std::unexpected(duckdb_error(api_->error_data_error_type(why.data),
                                        api_->error_data_message(why.data), Statement::kOwn, limits_, lent_)
                               .context(what));
}

Result<> Database::register_rows(const std::string& name, RowSource source) {
    return record::register_rows(api_, connection_, name, std::move(source), row_failure_);
}

std::string Database::lend(int fd, const std::filesystem::path& path) {
    lent_[fd] = path.string();
    return sql_literal(fmt::format("{}{}", kDescriptors, fd));
}

Result<> Database::confine() {
    std::string allowed;
    for (const auto& [fd, path] : lent_)
        allowed += fmt::format("{}'{}{}'", allowed.empty() ? "" : ", ", kDescriptors, fd);
    return execute(fmt::format(
        "SET allowed_paths = [{}]; SET enable_external_access = false; SET lock_configuration = true",
        allowed));
}

namespace {

std::string literal_of(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return sql_literal(*text);
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("'{}'::DOUBLE", *number);
    if (const auto* time = std::get_if<core::Time>(&value))
        return fmt::format("make_timestamp({})", core::to_microseconds(*time));
    return "NULL";
}

}  // namespace

std::string values_sql(const QueryResult& answer) {
    std::string sql = "VALUES ";
    for (const std::vector<Value>& row : answer.rows) {
        if (&row != &answer.rows.front()) sql += ", ";
        sql += '(';
        for (size_t i = 0; i < row.size(); ++i) sql += (i > 0 ? ", " : "") + literal_of(row[i]);
        sql += ')';
    }
    return sql;
}

std::string sql_literal(std::string_view text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

}  // namespace belay::record
