// A copy of a database of SQLite while others use it.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"

#include <filesystem>

namespace belay::database {

// Writes all that is committed now to one file, for its owner only, that takes the place of what has the name when it is
// whole; nobody waits for it. Errors: kBadInput for PostgreSQL, which has pg_dump and its own archives, and where `target` is
// the database itself or one in use; kSystem, kNoSpace, kTimedOut: nothing has changed then.
core::Result<> back_up(const Database& database, const std::filesystem::path& target,
                       const core::Deadline& deadline);

}  // namespace belay::database
