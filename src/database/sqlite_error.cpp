#include "database/sqlite_error.h"

#include "database/cause.h"

#include <cerrno>
#include <sqlite3.h>

namespace belay::database {

using core::Cause;
using core::Error;
using core::ErrorKind;

namespace {

struct SqliteMeaning {
    int code;  // extended, or primary for all of its extended ones
    ErrorKind kind;
    Cause cause;
    std::string_view hint = {};
};

// https://www.sqlite.org/rescode.html; the first row that fits counts. What the operating system refused is known by its errno.
constexpr SqliteMeaning kSqliteMeanings[] = {
    {SQLITE_CONSTRAINT_UNIQUE, ErrorKind::kBadInput, kDuplicate},
    {SQLITE_CONSTRAINT_PRIMARYKEY, ErrorKind::kBadInput, kDuplicate},
    {SQLITE_CONSTRAINT_ROWID, ErrorKind::kBadInput, kDuplicate},
    {SQLITE_CONSTRAINT_FOREIGNKEY, ErrorKind::kBadInput, kReference},
    {SQLITE_CONSTRAINT, ErrorKind::kBadInput, Cause::kOther},
    {SQLITE_TOOBIG, ErrorKind::kBadInput, Cause::kOther},
    {SQLITE_MISMATCH, ErrorKind::kBadInput, Cause::kOther},
    {SQLITE_NOTADB, ErrorKind::kBadInput, Cause::kOther,
     "name a file that SQLite wrote, or one that is not there yet"},
    {SQLITE_BUSY, ErrorKind::kSystem, kConflict},
    {SQLITE_LOCKED, ErrorKind::kSystem, kConflict},
    {SQLITE_INTERRUPT, ErrorKind::kSystem, Cause::kTimedOut, "it took longer than it was given"},
    {SQLITE_FULL, ErrorKind::kSystem, Cause::kNoSpace},
    {SQLITE_READONLY, ErrorKind::kSystem, Cause::kDenied},
    {SQLITE_PERM, ErrorKind::kSystem, Cause::kDenied},
    {SQLITE_AUTH, ErrorKind::kSystem, Cause::kDenied},
    {SQLITE_CORRUPT, ErrorKind::kSystem, Cause::kOther, "the file is damaged: put a backup in its place"},
};

const SqliteMeaning* meaning_of(int code) {
    for (const SqliteMeaning& row : kSqliteMeanings)
        if (row.code == code || row.code == (code & 0xff)) return &row;
    return nullptr;
}

}  // namespace

Error sqlite_error(sqlite3* database, int code, std::string_view what) {
    // The message is that of the last call on the connection, which may have been another one since.
    const bool is_current = database != nullptr && sqlite3_extended_errcode(database) == code;
    const char* why = is_current ? sqlite3_errmsg(database) : sqlite3_errstr(code);
    const int errno_value = database != nullptr ? sqlite3_system_errno(database) : 0;
    const SqliteMeaning* meaning = meaning_of(code);
    Error error(meaning != nullptr ? meaning->kind : ErrorKind::kSystem, fmt::format("{}: {}", what, why));
    if (meaning != nullptr) return std::move(error).because(meaning->cause).hint(meaning->hint);
    const int primary = code & 0xff;
    if (primary == SQLITE_NOMEM) return std::move(error).because_of_errno(ENOMEM);
    if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && errno_value != 0)
        return std::move(error)
            .after(": " + std::generic_category().message(errno_value))
            .because_of_errno(errno_value);
    return error;
}

}  // namespace belay::database
