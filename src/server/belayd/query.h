// A person's SQL on a record, answered by the program `belay` in a process of its own (docs/decisions/0021).
#pragma once

#include "core/error.h"
#include "server/records/limited_program.h"

#include <filesystem>
#include <string>

namespace belay::server {

// {"columns":[…],"rows":[[…]]}. Errors: kBadInput for what is wrong with the SQL, in the program's words; kTimedOut; kSystem.
core::Result<std::string> query_record(const std::filesystem::path& belay,
                                       const std::filesystem::path& record, const std::string& sql,
                                       const ProgramLimits& limits);

}  // namespace belay::server
