// What DuckDB says of a failure, as an Error: DuckDB's type, and where a system call failed its errno, decide
// kind and cause.
#pragma once

#include "core/error.h"
#include "record/archive/query_limits.h"

#include <map>
#include <string>
#include <string_view>

#include <duckdb.h>

namespace belay::record {

// DuckDB's C API hands out words only: of a statement that cannot be prepared not even their type. As JSON
// they hold the type and the errno.
inline constexpr const char* kTellErrorsAsJson = "SET errors_as_json = true";

// Files that were lent to SQL, by their descriptors; SQL names them by that directory.
inline constexpr std::string_view kDescriptors = "/proc/self/fd/";
using LentFiles = std::map<int, std::string>;

// `type` is DUCKDB_ERROR_INVALID where the API does not tell it. A system call that failed is kSystem with
// its cause, whoever wrote the statement; what took too much memory has ENOMEM, too much time is kTimedOut or
// kCancelled.
core::Error duckdb_error(duckdb_error_type type, const char* words, Statement statement,
                         const QueryLimits& limits, const LentFiles& lent);

}  // namespace belay::record
