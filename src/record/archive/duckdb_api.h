// DuckDB's C API, loaded when a command first needs it: `belay` starts without reading 60 MB of library, and
// a job step never does.
#pragma once

#include "core/error.h"

#include <duckdb.h>

namespace belay::record {

// The functions we use, each once: the table from which the struct and the loader are made.
// clang-format off: it would indent each line further than the one before.
#define BELAY_DUCKDB_FUNCTIONS(X)                                                                           \
    X(create_config) X(set_config) X(destroy_config) X(open_ext) X(close) X(connect) X(disconnect)          \
    X(query) X(destroy_result) X(result_error) X(column_count) X(column_type)                               \
    X(fetch_chunk) X(destroy_data_chunk) X(data_chunk_get_size) X(data_chunk_get_vector)                    \
    X(vector_get_data) X(vector_get_validity) X(validity_row_is_valid) X(string_t_data)                     \
    X(string_t_length) X(free) X(appender_create) X(appender_destroy)                                       \
    X(appender_end_row) X(append_null) X(append_bool) X(append_int64) X(append_double)                      \
    X(append_varchar_length) X(append_timestamp) X(library_version) X(prepare) X(prepare_error)             \
    X(prepared_statement_type) X(prepared_statement_column_count) X(prepared_statement_column_name)         \
    X(prepared_statement_column_type) X(execute_prepared) X(destroy_prepare)                               \
    X(execute_prepared_streaming) X(result_error_type) X(interrupt) X(appender_close)                      \
    X(appender_error_data) X(error_data_error_type) X(error_data_message) X(destroy_error_data)
// clang-format on

struct DuckdbApi {
#define BELAY_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name;
    BELAY_DUCKDB_FUNCTIONS(BELAY_DUCKDB_MEMBER)
#undef BELAY_DUCKDB_MEMBER
};

// Loads libduckdb.so (once). Errors: kSystem with what to install.
core::Result<const DuckdbApi*> duckdb_api();

}  // namespace belay::record
