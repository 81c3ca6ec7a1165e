#include "database/database.h"

#include "core/text.h"
#include "database/cause.h"
#include "database/pool.h"
#include "database/postgres_connection.h"
#include "database/sqlite_connection.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

namespace belay::database {

using core::Cause;
using core::Deadline;
using core::Error;
using core::Result;

namespace {

constexpr core::Duration kFirstPause = std::chrono::milliseconds(2),
                         kLongestPause = std::chrono::milliseconds(200);

Pool::Open opener(const Place& place, const DatabaseOptions& options, SqliteRole role) {
    if (place.engine == Engine::kSqlite)
        return [file = place.file, role](const Deadline& deadline) -> Result<std::unique_ptr<Connection>> {
            BELAY_TRY(connection, SqliteConnection::open(file, role, deadline));
            return connection;
        };
    return [server = std::make_shared<PostgresServer>(place, options.application)](
               const Deadline& deadline) -> Result<std::unique_ptr<Connection>> {
        BELAY_TRY(connection, PostgresConnection::open(*server, deadline));
        return connection;
    };
}

// How one run of a transaction ended, and whether another may end otherwise.
struct Attempt {
    Result<> result;
    bool may_run_again = false;
};

Attempt failed(Error error, bool may_run_again) {
    return {std::unexpected(std::move(error)), may_run_again};
}

// Others were in the way, or the connection was lost and so whatever it had done. Once more finds out which.
bool may_pass(const Error& error) {
    return error.cause() == kConflict || error.cause() == Cause::kUnreachable;
}

Attempt run_once(Pool& pool, Engine engine, Access access, const Deadline& deadline,
                 const Database::Work& work) {
    auto connection = pool.take(deadline);
    if (!connection) return failed(connection.error(), connection.error().cause() == kConflict);
    if (auto begun = (*connection)->begin(access, deadline); !begun)
        return failed(begun.error(), may_pass(begun.error()));
    Transaction transaction(engine, **connection, deadline);
    Result<> done = work(transaction);
    if (done && transaction.failure()) done = std::unexpected(*transaction.failure());
    if (done && transaction.has_open_rows())
        done = std::unexpected(
            core::system_error("a transaction was to end while rows were not read to their end").error());
    if (!done) {
        const bool again = transaction.failure() && may_pass(*transaction.failure());
        (*connection)->rollback();
        return failed(std::move(done.error()), again);
    }
    auto committed = (*connection)->commit();
    if (committed) return {};
    (*connection)->rollback();
    return failed(committed.error(), committed.error().cause() == kConflict);
}

// Longer each time and never the same, so that those that met do not meet again.
void pause_before(int attempt, const Deadline& deadline) {
    thread_local std::minstd_rand random(std::random_device{}());
    const core::Duration longest = std::min(kFirstPause * (1 << std::min(attempt, 10)), kLongestPause);
    std::uniform_int_distribution<int64_t> some(0, longest.count());
    std::this_thread::sleep_for(std::min(core::Duration(some(random)), deadline.left()));
}

Error given_up(Error error, int attempts, const Deadline& deadline) {
    if (attempts > 1) error = std::move(error).after(fmt::format(" (tried {} times)", attempts));
    const bool only_time_was_short = error.cause() == kConflict && deadline.is_over();
    return only_time_was_short ? std::move(error).because(Cause::kTimedOut) : error;
}

}  // namespace

struct Database::State {
    State(Place where, const DatabaseOptions& options)
        : place(std::move(where)),
          readers(place.name, options.connections, opener(place, options, SqliteRole::kReader)) {
        if (place.engine == Engine::kSqlite)
            writer.emplace(place.name, 1, opener(place, options, SqliteRole::kWriter));
    }
    Pool& pool_for(Access access) { return writer && access != Access::kRead ? *writer : readers; }

    Place place;
    Pool readers;                // of PostgreSQL, all
    std::optional<Pool> writer;  // of SQLite
};

Result<Database> Database::open(std::string_view place, const DatabaseOptions& options,
                                const Deadline& deadline) {
    BELAY_TRY(where, parse_place(place));
    auto state = std::make_shared<State>(std::move(where), options);
    BELAY_CHECK(state->pool_for(Access::kWrite).take(deadline));
    return Database(std::move(state));
}

const Place& Database::place() const {
    return state_->place;
}

Result<> Database::transact(Access access, const Deadline& deadline, const Work& work) {
    for (int attempt = 1;; ++attempt) {
        Attempt done = run_once(state_->pool_for(access), engine(), access, deadline, work);
        if (done.result) return {};
        if (!done.may_run_again || attempt == kMostAttempts || deadline.is_over())
            return std::unexpected(given_up(std::move(done.result.error()), attempt, deadline));
        pause_before(attempt, deadline);
    }
}

Result<int64_t> Database::execute(const Deadline& deadline, std::string_view sql, const Values& values) {
    int64_t changed = 0;
    BELAY_CHECK(write(deadline, [&](Transaction& transaction) -> Result<> {
        BELAY_TRY(rows, transaction.execute(sql, values));
        changed = rows;
        return {};
    }));
    return changed;
}

Result<std::vector<Row>> Database::query(const Deadline& deadline, std::string_view sql,
                                         const Values& values) {
    std::vector<Row> answer;
    BELAY_CHECK(read(deadline, [&](Transaction& transaction) -> Result<> {
        BELAY_TRY(rows, transaction.query_all(sql, values));
        answer = std::move(rows);
        return {};
    }));
    return answer;
}

}  // namespace belay::database
