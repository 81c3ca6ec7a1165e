#include "record/archive/database.h"

#include "core/text.h"

#include <cmath>
#include <limits>

namespace belay::record {

using core::Result;

namespace {

// Frees what the C API hands out at the end of the scope.
struct ConfigGuard {
    const DuckdbApi* api;
    duckdb_config config = nullptr;
    ~ConfigGuard() { api->destroy_config(&config); }
};
struct ResultGuard {
    const DuckdbApi* api;
    duckdb_result result{};
    ~ResultGuard() { api->destroy_result(&result); }
};
struct StatementGuard {
    const DuckdbApi* api;
    duckdb_prepared_statement statement = nullptr;
    ~StatementGuard() { api->destroy_prepare(&statement); }
};
struct ChunkGuard {
    const DuckdbApi* api;
    duckdb_data_chunk chunk;
    ~ChunkGuard() { api->destroy_data_chunk(&chunk); }
};
struct AppenderGuard {
    const DuckdbApi* api;
    duckdb_appender appender = nullptr;
    ~AppenderGuard() { api->appender_destroy(&appender); }
};

double wide_to_double(duckdb_hugeint value) {
    return std::ldexp(static_cast<double>(value.upper), 64) + static_cast<double>(value.lower);
}

Value integer_or_real(duckdb_hugeint value) {
    if ((value.upper == 0 && value.lower <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) ||
        (value.upper == -1 && value.lower > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())))
        return static_cast<int64_t>(value.lower);
    return wide_to_double(value);
}

template <typename T>
T at(const void* data, idx_t row) {
    return static_cast<const T*>(data)[row];
}

Value time_value(int64_t count, int64_t nanoseconds_each) {
    int64_t nanoseconds = 0;
    if (__builtin_mul_overflow(count, nanoseconds_each, &nanoseconds))
        return fmt::format("outside 1678 to 2261: {} s since 1970",
                           static_cast<double>(count) * 1e-9 * static_cast<double>(nanoseconds_each));
    return core::time_from_nanoseconds(nanoseconds);
}

bool is_plain(duckdb_type type) {
    switch (type) {
        case DUCKDB_TYPE_BOOLEAN:
        case DUCKDB_TYPE_TINYINT:
        case DUCKDB_TYPE_SMALLINT:
        case DUCKDB_TYPE_INTEGER:
        case DUCKDB_TYPE_BIGINT:
        case DUCKDB_TYPE_UTINYINT:
        case DUCKDB_TYPE_USMALLINT:
        case DUCKDB_TYPE_UINTEGER:
        case DUCKDB_TYPE_UBIGINT:
        case DUCKDB_TYPE_HUGEINT:
        case DUCKDB_TYPE_FLOAT:
        case DUCKDB_TYPE_DOUBLE:
        case DUCKDB_TYPE_VARCHAR:
        case DUCKDB_TYPE_TIMESTAMP:
        case DUCKDB_TYPE_TIMESTAMP_S:
        case DUCKDB_TYPE_TIMESTAMP_MS:
        case DUCKDB_TYPE_TIMESTAMP_NS:
        case DUCKDB_TYPE_TIMESTAMP_TZ:
            return true;
        default:
            return false;
    }
}

Value read_value(const DuckdbApi* api, duckdb_type type, void* data, idx_t row) {
    switch (type) {
        case DUCKDB_TYPE_BOOLEAN:
            return at<bool>(data, row);
        case DUCKDB_TYPE_TINYINT:
            return int64_t{at<int8_t>(data, row)};
        case DUCKDB_TYPE_SMALLINT:
            return int64_t{at<int16_t>(data, row)};
        case DUCKDB_TYPE_INTEGER:
            return int64_t{at<int32_t>(data, row)};
        case DUCKDB_TYPE_BIGINT:
            return at<int64_t>(data, row);
        case DUCKDB_TYPE_UTINYINT:
            return int64_t{at<uint8_t>(data, row)};
        case DUCKDB_TYPE_USMALLINT:
            return int64_t{at<uint16_t>(data, row)};
        case DUCKDB_TYPE_UINTEGER:
            return int64_t{at<uint32_t>(data, row)};
        case DUCKDB_TYPE_UBIGINT:
            return integer_or_real({at<uint64_t>(data, row), 0});
        case DUCKDB_TYPE_HUGEINT:
            return integer_or_real(at<duckdb_hugeint>(data, row));
        case DUCKDB_TYPE_FLOAT:
            return double{at<float>(data, row)};
        case DUCKDB_TYPE_DOUBLE:
            return at<double>(data, row);
        case DUCKDB_TYPE_TIMESTAMP_S:
            return time_value(at<int64_t>(data, row), 1'000'000'000);
        case DUCKDB_TYPE_TIMESTAMP_MS:
            return time_value(at<int64_t>(data, row), 1'000'000);
        case DUCKDB_TYPE_TIMESTAMP_NS:
            return time_value(at<int64_t>(data, row), 1);
        case DUCKDB_TYPE_TIMESTAMP:
        case DUCKDB_TYPE_TIMESTAMP_TZ:
            return time_value(at<int64_t>(data, row), 1'000);
        default:
            break;
    }
    auto* text = static_cast<duckdb_string_t*>(data) + row;
    return std::string(api->string_t_data(text), api->string_t_length(*text));
}

// DuckDB's message without the excerpt of the SQL that follows it, in one line.
std::string message_of(const char* why) {
    std::string message;
    for (std::string_view line : core::split(why != nullptr ? why : "no reason given", '\n')) {
        if (line.starts_with("LINE ")) break;
        if (!line.empty()) message += (message.empty() ? "" : " ") + std::string(line);
    }
    return message;
}

// SQL that may run: a SELECT. Directories that may be read may also be written, so nothing else may; EXPLAIN
// ANALYZE runs what it explains.
Result<> prepare_select(const DuckdbApi* api, duckdb_connection connection, const std::string& sql,
                        StatementGuard& guard) {
    if (api->prepare(connection, sql.c_str(), &guard.statement) != DuckDBSuccess) {
        return core::bad_input("{}", message_of(api->prepare_error(guard.statement)));
    }
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

QueryResult read_result(const DuckdbApi* api, duckdb_result& result, std::vector<std::string> names) {
    QueryResult out{.columns = std::move(names), .rows = {}};
    std::vector<duckdb_type> types;
    for (idx_t i = 0; i < api->column_count(&result); ++i) types.push_back(api->column_type(&result, i));
    while (duckdb_data_chunk raw = api->fetch_chunk(result)) {
        ChunkGuard chunk{api, raw};
        idx_t rows = api->data_chunk_get_size(raw);
        size_t first = out.rows.size();
        out.rows.resize(first + rows, std::vector<Value>(types.size()));
        for (idx_t column = 0; column < types.size(); ++column) {
            duckdb_vector vector = api->data_chunk_get_vector(raw, column);
            void* data = api->vector_get_data(vector);
            uint64_t* validity = api->vector_get_validity(vector);
            for (idx_t row = 0; row < rows; ++row)
                if (validity == nullptr || api->validity_row_is_valid(validity, row))
                    out.rows[first + row][column] = read_value(api, types[column], data, row);
        }
    }
    return out;
}

duckdb_state append_value(const DuckdbApi* api, duckdb_appender appender, ColumnType type,
                          const ColumnValues& values, size_t row) {
    if (values.present[row] == 0) return api->append_null(appender);
    switch (type) {
        case ColumnType::kText:
            return api->append_varchar_length(appender, values.texts[row].data(), values.texts[row].size());
        case ColumnType::kReal:
            return api->append_double(appender, values.reals[row]);
        case ColumnType::kBoolean:
            return api->append_bool(appender, values.integers[row] != 0);
        case ColumnType::kTimestamp:
            return api->append_timestamp(appender, {values.integers[row] / 1000});
        case ColumnType::kInteger:
            break;
    }
    return api->append_int64(appender, values.integers[row]);
}

}  // namespace

double as_double(const Value& value) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    return std::numeric_limits<double>::quiet_NaN();
}

std::string as_text(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : std::string();
}

Result<Database> Database::open(int threads) {
    BELAY_TRY(api, duckdb_api());
    ConfigGuard config{api};
    if (api->create_config(&config.config) != DuckDBSuccess)
        return core::system_error("DuckDB: out of memory");
    api->set_config(config.config, "autoinstall_known_extensions", "false");
    api->set_config(config.config, "autoload_known_extensions", "false");
    if (threads > 0) {
        api->set_config(config.config, "threads", std::to_string(threads).c_str());
        api->set_config(config.config, "memory_limit", "512MB");  // there may be one of them for each core
        api->set_config(config.config, "temp_directory", "");  // nothing is written where the caller stands
    }
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
    return Database(api, database, connection, threads == 1);
}

Database::Database(Database&& other) noexcept
    : api_(other.api_),
      database_(std::exchange(other.database_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)),
      streams_(other.streams_) {}

Database::~Database() {
    if (connection_ != nullptr) api_->disconnect(&connection_);
    if (database_ != nullptr) api_->close(&database_);
}

Result<> Database::execute(const std::string& sql) {
    ResultGuard result{api_};
    if (api_->query(connection_, sql.c_str(), &result.result) != DuckDBSuccess)
        return core::system_error("DuckDB: {}", message_of(api_->result_error(&result.result)));
    return {};
}

Result<QueryResult> Database::query(const std::string& sql) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, asked));
    std::string plain = with_plain_columns(api_, asked.statement, sql);
    StatementGuard cast{api_};
    if (!plain.empty())
        BELAY_CHECK(core::with_context(prepare_select(api_, connection_, plain, cast),
                                       "a column that is neither a number, a text nor a time"));
    ResultGuard result{api_};
    duckdb_prepared_statement statement = plain.empty() ? asked.statement : cast.statement;
    if (api_->execute_prepared(statement, &result.result) != DuckDBSuccess)
        return core::bad_input("{}", message_of(api_->result_error(&result.result)));
    return read_result(api_, result.result, column_names(api_, asked.statement));
}

Result<> Database::scan(const std::string& sql, const ScanRequest& request,
                        const std::function<Result<>(const ScanRows&)>& consume) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, asked));
    ResultGuard result{api_};
    auto run = streams_ ? api_->execute_prepared_streaming : api_->execute_prepared;
    if (run(asked.statement, &result.result) != DuckDBSuccess)
        return core::bad_input("{}", message_of(api_->result_error(&result.result)));
    while (duckdb_data_chunk raw = api_->fetch_chunk(result.result)) {
        ChunkGuard chunk{api_, raw};
        BELAY_CHECK(consume(ScanRows(api_, raw, request)));
    }
    // What a stream meets on its way (a damaged page) is told at its end only.
    if (api_->result_error_type(&result.result) != DUCKDB_ERROR_INVALID)
        return core::bad_input("{}", message_of(api_->result_error(&result.result)));
    return {};
}

Result<std::vector<std::string>> Database::columns_of(const std::string& sql) {
    StatementGuard asked{api_};
    BELAY_CHECK(prepare_select(api_, connection_, sql, asked));
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
    if (state == DuckDBSuccess) state = api_->appender_destroy(&guard.appender);  // flushes
    if (state != DuckDBSuccess) {
        const char* why = guard.appender != nullptr ? api_->appender_error(guard.appender) : nullptr;
        return core::system_error("cannot add rows to table {}: {}", table,
                                  why != nullptr ? why : "no reason given");
    }
    return {};
}

// The pattern of a name is compared with what is allowed, and then the name that it stands for.
Result<> Database::confine(const std::string& directory) {
    return execute(
        fmt::format("SET allowed_directories = [{}, {}]; SET enable_external_access = false; "
                    "SET lock_configuration = true",
                    sql_literal(directory), sql_file(directory)));
}

Result<> Database::confine() {
    return execute("SET enable_external_access = false; SET lock_configuration = true");
}

std::string sql_literal(std::string_view text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

std::string sql_file(const std::filesystem::path& file) {
    std::string pattern;
    for (char c : file.string()) {
        const bool is_special = c == '[' || c == '*' || c == '?';
        pattern += is_special ? fmt::format("[{}]", c) : std::string(1, c);
    }
    return sql_literal(pattern);
}

}  // namespace belay::record
