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
    X(appender_error_data) X(error_data_error_type) X(error_data_message) X(destroy_error_data)            \
    X(create_table_function) X(destroy_table_function) X(table_function_set_name)                          \
    X(table_function_set_extra_info) X(table_function_set_bind) X(table_function_set_init)                 \
    X(table_function_set_function) X(table_function_supports_projection_pushdown)                          \
    X(register_table_function) X(create_logical_type) X(destroy_logical_type) X(bind_get_extra_info)       \
    X(bind_add_result_column) X(bind_set_cardinality) X(init_get_extra_info) X(init_get_column_count)      \
    X(init_get_column_index) X(init_set_max_threads) X(init_set_init_data) X(init_set_error)               \
    X(function_get_extra_info) X(function_get_init_data) X(function_set_error) X(data_chunk_set_size)      \
    X(vector_size) X(vector_assign_string_element_len) X(vector_ensure_validity_writable)                  \
    X(validity_set_row_invalid)
// clang-format on

struct DuckdbApi {
#define BELAY_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name;
    BELAY_DUCKDB_FUNCTIONS(BELAY_DUCKDB_MEMBER)
#undef BELAY_DUCKDB_MEMBER
};

// Loads libduckdb.so (once). Errors: kSystem with what to install.
core::Result<const DuckdbApi*> duckdb_api();

}  // namespace belay::record
