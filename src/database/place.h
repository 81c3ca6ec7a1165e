// Where a database is, as configuration says it: "sqlite:/var/lib/belay/state.db", "postgresql://belay@db/belay" or
// libpq's "host=db dbname=belay".
#pragma once

#include "core/error.h"
#include "database/sql.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace belay::database {

struct Place {
    Engine engine = Engine::kSqlite;
    std::filesystem::path file;                   // of SQLite
    std::map<std::string, std::string> settings;  // of libpq, by their keyword; what is not said is left out
    std::string name;                             // for messages: without the password
};

// Opens nothing. Errors: kBadInput, with what can be written.
core::Result<Place> parse_place(std::string_view text);

}  // namespace belay::database
