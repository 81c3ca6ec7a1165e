#include "database/backup.h"

#include "core/file.h"
#include "core/new_file.h"
#include "database/sqlite_connection.h"
#include "database/sqlite_error.h"

#include <chrono>
#include <fcntl.h>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <system_error>
#include <thread>

namespace belay::database {

using core::Deadline;
using core::Result;

namespace {

namespace fs = std::filesystem;

constexpr int kPagesPerStep = 1024;

struct FinishBackup {
    void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// The copy under another name, and what SQLite puts beside it: gone at the end unless it was renamed.
struct Unfinished {
    explicit Unfinished(fs::path where) : path(std::move(where)) {}
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        std::error_code ignored;
        for (const char* suffix : {"", "-journal", "-wal", "-shm"})
            fs::remove(path.string() + suffix, ignored);
    }
    fs::path path;
};

Result<> copy_pages(sqlite3* from, sqlite3* to, const std::string& what, const Deadline& deadline) {
    const std::unique_ptr<sqlite3_backup, FinishBackup> backup(sqlite3_backup_init(to, "main", from, "main"));
    if (!backup) return std::unexpected(sqlite_error(to, sqlite3_extended_errcode(to), what));
    for (;;) {
        const int status = sqlite3_backup_step(backup.get(), kPagesPerStep);
        if (status == SQLITE_DONE) return {};
        if (status != SQLITE_OK && status != SQLITE_BUSY && status != SQLITE_LOCKED)
            return std::unexpected(sqlite_error(to, status, what));
        if (deadline.is_over())
            return core::system_error("{}: not done in the time allowed", what)
                .because(core::Cause::kTimedOut);
        if (status != SQLITE_OK) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

// In WAL mode a copy would be written to when it is opened; so it is one file that can be read from anywhere.
Result<> make_one_file(sqlite3* copy, const std::string& what) {
    int status = sqlite3_exec(copy, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
    if (status == SQLITE_OK) return {};
    return std::unexpected(sqlite_error(copy, status, what));
}

}  // namespace

Result<> back_up(const Database& database, const fs::path& target, const Deadline& deadline) {
    if (database.engine() != Engine::kSqlite)
        return core::bad_input("a database of {} is not copied to a file by belay",
                               engine_name(database.engine()))
            .hint("use pg_dump, or the archives of the server");
    std::error_code not_there;
    if (fs::equivalent(database.place().file, target, not_there))
        return core::bad_input("{} is the database itself", target.string()).hint("name another file");
    if (fs::exists(target.string() + "-wal", not_there))
        return core::bad_input("{0} is in use, or was not closed: {0}-wal belongs to it", target.string())
            .hint("name another file, or remove both");
    const std::string what =
        fmt::format("cannot copy {} to {}", database.place().file.string(), target.string());
    BELAY_TRY(source, SqliteConnection::open(database.place().file, SqliteRole::kReader, deadline));
    // A snapshot: without it, each write of others would begin the copy anew.
    BELAY_CHECK(source->begin(Access::kRead, deadline));
    BELAY_CHECK(source->run("SELECT count(*) FROM sqlite_schema", {}, deadline));
    BELAY_TRY(name, core::random_name(target.filename().string() + ".tmp-"));
    const Unfinished unfinished(fs::path(target).replace_filename(name));
    BELAY_CHECK(core::open_file(unfinished.path, O_CREAT | O_EXCL | O_RDWR, 0600));
    BELAY_TRY(copy, open_sqlite(unfinished.path));
    BELAY_CHECK(copy_pages(source->handle(), copy.get(), what, deadline));
    BELAY_CHECK(make_one_file(copy.get(), what));
    copy.reset();
    std::error_code failed;
    fs::rename(unfinished.path, target, failed);
    if (failed) return core::errno_error(failed, what);
    return core::sync_directory(target.has_parent_path() ? target.parent_path() : ".");
}

}  // namespace belay::database
