// What SQLite's result codes mean.
#pragma once

#include "core/error.h"

#include <string_view>

struct sqlite3;  // sqlite3.h

namespace belay::database {

// The error of the call that has just failed with the (extended) code: "WHAT: WHY". `database` may be null.
core::Error sqlite_error(sqlite3* database, int code, std::string_view what);

}  // namespace belay::database
