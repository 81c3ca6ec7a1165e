#include "record/archive/database.h"

#include "core/text.h"
#include "record/archive/duckdb_guards.h"
#include "record/archive/duckdb_values.h"

#include <new>
#include <utility>

namespace belay::record {

using core::Result;

namespace {

constexpr std::string_view kDescriptors = "/proc/self/fd/";

using LentFiles = std::map<int, std::string>;

// DuckDB's message without the excerpt of the SQL that follows it, in one line.
std::string first_lines(const char* why) {
    std::string message;
    for (std::string_view line : core::split(why != nullptr ? why : "no reason given", '\n')) {
        if (line.starts_with("LINE ")) break;
        if (!line.empty()) message += (message.empty() ? "" : " ") + std::string(line);
    }
    return message;
}

// The names by which files were lent, as paths again.
std::string with_paths(std::string_view message, const LentFiles& lent) {
    std::string out;
    for (size_t at = 0; at < message.size();) {
        const size_t found = std::min(message.find(kDescriptors, at), message.size());
        out += message.substr(at, found - at);
        at = found;
        if (at == message.size()) break;
        const size_t digits = at + kDescriptors.size();
        const size_t end = std::min(message.find_first_not_of("0123456789", digits), message.size());
        const auto number = core::parse_number<int>(message.substr(digits, end - digits));
        const auto file = number ? lent.find(*number) : lent.end();
        out += file != lent.end() ? std::string_view(file->second) : message.substr(at, end - at);
        at = end;
    }
    return out;
}

std::string message_of(const char* why, const LentFiles& lent) {
    return with_paths(first_lines(why), lent);
}

// SQL that may run: a SELECT. Files that may be read may also be written, so nothing else may; EXPLAIN
// ANALYZE runs what it explains.
Result<> prepare_select(const DuckdbApi* api, duckdb_connection connection, const std::string& sql,
                        const LentFiles& lent, StatementGuard& guard) {
    if (api->prepare(connection, sql.c_str(), &guard.statement) != DuckDBSuccess)
        return core::bad_input("{}", message_of(api->prepare_error(guard.statement), lent));
    if (api->prepared_statement_type(guard.statement) != DUCKDB_STATEMENT_TYPE_SELECT)
        return core::bad_input("a record can only be read").hint("write one SELECT statement");
    return {};
}

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
        return core::system_error("DuckDB: out of memory");
    api->set_config(config.config, "autoinstall_known_extensions", "false");
    api->set_config(config.config, "autoload_known_extensions", "false");
    // Nothing is written where the caller stands, nor read: a link of that name may lie there.
    api->set_config(config.config, "temp_directory", "");
    if (threads > 0) api->set_config(config.config, "threads", std::to_string(threads).c_str());
    if (limits.memory)
        api->set_config(config.config, "memory_limit", fmt::format("{}B", limits.memory->bytes).c_str());
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
    return Database(api, database, connection, threads == 1, limits);
}

Database::Database(Database&& other) noexcept
    : api_(other.api_),
      database_(std::exchange(other.database_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)),
      streams_(other.streams_),
      limits_(other.limits_),
      lent_(std::move(other.lent_)) {}

Database::~Database() {
    if (connection_ != nullptr) api_->disconnect(&connection_);
    if (database_ != nullptr) api_->close(&database_);
}

Result<> Database::execute(const std::string& sql) {
    ResultGuard result{api_};
    if (api_->query(connection_, sql.c_str(), &result.result) != DuckDBSuccess)
        return core::system_error("DuckDB: {}", message_of(api_->result_error(&result.result), lent_));
    return {};
}

core::Failure Database::failure_of(duckdb_result& result) const {
    switch (api_->result_error_type(&result)) {
        case DUCKDB_ERROR_INTERRUPT:
            return core::Failure(too_slow(limits_));
        case DUCKDB_ERROR_OUT_OF_MEMORY:
            return core::Failure(too_large(limits_));
        default:
            return core::bad_input("{}", message_of(api_->result_error(&result), lent_));
    }
}

Result<QueryResult> Database::query(const std::string& sql) try {
    const Interrupter interrupter(api_, connection_, limits_);
    const MemoryLimit memory(limits_.memory);
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, lent_, asked));
    std::string plain = with_plain_columns(api_, asked.statement, sql);
    StatementGuard cast{api_};
    if (!plain.empty())
        BELAY_CHECK(core::with_context(prepare_select(api_, connection_, plain, lent_, cast),
                                       "a column that is neither a number, a text nor a time"));
    ResultGuard result{api_};
    duckdb_prepared_statement statement = plain.empty() ? asked.statement : cast.statement;
    if (api_->execute_prepared(statement, &result.result) != DuckDBSuccess) return failure_of(result.result);
    auto rows = read_result(api_, result.result, column_names(api_, asked.statement), limits_.memory);
    if (!rows) return std::unexpected(too_large(limits_));
    return std::move(*rows);
} catch (const std::bad_alloc&) {
    return std::unexpected(too_large(limits_));
}

Result<> Database::scan(const std::string& sql, const ScanRequest& request,
                        const std::function<Result<>(const ScanRows&)>& consume) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, lent_, asked));
    ResultGuard result{api_};
    auto run = streams_ ? api_->execute_prepared_streaming : api_->execute_prepared;
    if (run(asked.statement, &result.result) != DuckDBSuccess)
        return core::bad_input("{}", message_of(api_->result_error(&result.result), lent_));
    while (duckdb_data_chunk raw = api_->fetch_chunk(result.result)) {
        ChunkGuard chunk{api_, raw};
        BELAY_CHECK(consume(ScanRows(api_, raw, request)));
    }
    // What a stream meets on its way (a damaged page) is told at its end only.
    if (api_->result_error_type(&result.result) != DUCKDB_ERROR_INVALID)
        return core::bad_input("{}", message_of(api_->result_error(&result.result), lent_));
    return {};
}

Result<std::vector<std::string>> Database::columns_of(const std::string& sql) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, lent_, asked));
    return column_names(api_, asked.statement);
}

Result<> Database::append(const Batch& batch) {
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
    if (guard.appender == nullptr) return core::system_error("cannot add rows to table {}", table);
    const ErrorDataGuard why{api_, api_->appender_error_data(guard.appender)};
    const char* message = api_->error_data_message(why.data);
    auto failure = core::system_error("cannot add rows to table {}: {}", table,
                                      message != nullptr ? message : "no reason given");
    if (api_->error_data_error_type(why.data) != DUCKDB_ERROR_OUT_OF_MEMORY) return failure;
    return std::move(failure)
        .because(core::Cause::kNoSpace)
        .hint(limits_.memory ? "raise the setting query.memory" : "it needs more memory than there is");
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

std::string sql_literal(std::string_view text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

}  // namespace belay::record
