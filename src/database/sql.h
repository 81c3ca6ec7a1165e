// The portable subset of SQL: what is written once and runs on both engines. Values are parameters, written "?"; words in
// braces stand for what the engines call differently. What one engine would understand and the other would not, or
// otherwise, is refused on both.
//
//   CREATE TABLE node (id {id}, name {text} NOT NULL UNIQUE, seen {int64}, image {bytes}) {strict}
//   UPDATE node SET seen = {now} WHERE name = ?
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::database {

enum class Engine { kSqlite, kPostgres };

// "SQLite", "PostgreSQL".
std::string_view engine_name(Engine engine);

struct NativeStatement {
    std::string sql;        // as the engine takes it: PostgreSQL's parameters are $1, $2 …
    size_t parameters = 0;  // how many
};

// One statement in the engine's words. Quotes and comments stay as they are. Errors: kBadInput, with the place: more than
// one statement or none, a quote or comment that does not end, a comment within a comment, characters and literals outside of
// quotes that one engine has its own use for, an unknown word in braces, a word that begins or ends a transaction.
core::Result<NativeStatement> to_native(std::string_view sql, Engine engine);

// The statements of a script, at its semicolons. Errors: kBadInput, as far as it cannot be taken apart.
core::Result<std::vector<std::string_view>> split_statements(std::string_view script);

}  // namespace belay::database
