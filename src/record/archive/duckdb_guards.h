// Frees what DuckDB's C API hands out at the end of the scope.
#pragma once

#include "record/archive/duckdb_api.h"

namespace belay::record {

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

struct ErrorDataGuard {
    const DuckdbApi* api;
    duckdb_error_data data = nullptr;
    ~ErrorDataGuard() { api->destroy_error_data(&data); }
};

}  // namespace belay::record
