// The schema of a program as numbered steps, each applied once to every database.
//
//   constexpr Migration kMigrations[] = {
//       {1, "nodes", "CREATE TABLE node (id {id}, name {text} NOT NULL UNIQUE) {strict}"},
//       {2, "leases", kLeaseTable},
//   };
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace belay::database {

struct Migration {
    int64_t number = 0;     // 1, 2, 3 …: none is left out, and none changes once a release has had it
    std::string_view name;  // what it brings
    std::string_view sql;   // statements of the portable subset, with semicolons between them
};

// Applies the steps that the database does not have yet, in their order, each whole or not at all. Of programs that start at
// once one applies a step and the others find it done. Errors: kBadInput for steps that are not numbered so, for a database
// with a step that is not among them (it is of a newer program, or of another one) and for one that had another name;
// those of Database::transact, with the step.
core::Result<> migrate(Database& database, std::span<const Migration> steps, const core::Deadline& deadline);

}  // namespace belay::database
