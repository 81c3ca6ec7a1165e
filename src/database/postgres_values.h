// Values as PostgreSQL's binary protocol has them. Pure.
#pragma once

#include "core/error.h"
#include "database/value.h"

#include <array>
#include <string>
#include <vector>

typedef struct pg_result PGresult;  // libpq-fe.h

namespace belay::database {

using PostgresType = unsigned int;  // Oid

// Parameters as PQsendQueryPrepared takes them: they point into the values, and into this. A null has no type: it gets that
// of its place in the statement.
struct PostgresParameters {
    explicit PostgresParameters(const Values& values);
    PostgresParameters(const PostgresParameters&) = delete;
    PostgresParameters& operator=(const PostgresParameters&) = delete;

    std::vector<PostgresType> types;
    std::vector<const char*> begins;  // null for null
    std::vector<int> lengths, formats;
    // The types as a key: a statement is prepared for them.
    std::string signature;

  private:
    std::vector<std::array<char, 8>> numbers_;
};

// Row 0 of a result in the binary format. Errors: kSystem for a column of a type that is not portable.
core::Result<> read_row(const PGresult* result, Row& row);

}  // namespace belay::database
