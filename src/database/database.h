// The state of a program in SQLite or PostgreSQL: one interface, one SQL (sql.h), and one set of errors to decide by.
//
//   BELAY_TRY(database, Database::open("sqlite:/var/lib/belay/state.db", {}, Deadline::after(10s)));
//   BELAY_CHECK(migrate(database, kMigrations, Deadline::after(1min)));
//   BELAY_CHECK(database.write(Deadline::after(5s), [&](Transaction& transaction) -> Result<> {
//       BELAY_CHECK(transaction.execute("INSERT INTO node (name) VALUES (?)", {name}));
//       return {};
//   }));
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/place.h"
#include "database/transaction.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::database {

struct DatabaseOptions {
    // At a time; of SQLite those that read, beside one that writes.
    size_t connections = 4;
    // As PostgreSQL lists it (pg_stat_activity).
    std::string application = "belay";
};

// How often a transaction is run in all where others are in its way.
inline constexpr int kMostAttempts = 20;

// Thread-safe. Its connections do not survive fork(): a child opens its own.
class Database {
  public:
    // Run again from its start where another transaction was in the way, so what it does besides must bear that.
    using Work = std::function<core::Result<>(Transaction&)>;

    // Connects once, so that what is wrong with the place shows now. A file that is not there is made, for its owner only;
    // it must be on a file system of this machine. Errors: kBadInput for the place, and for a file that is something else;
    // kSystem: kUnreachable where no server answers, kDenied, kNotFound where it has no such database, kTimedOut.
    static core::Result<Database> open(std::string_view place, const DatabaseOptions& options,
                                       const core::Deadline& deadline);

    // Runs the function in a transaction and commits what it did, all or nothing; where it fails, nothing. Again, at most
    // kMostAttempts times and until the deadline, where it met another one (kConflict) or its connection was lost before
    // the end. One within another waits for itself, where there is one connection. Errors: the function's; those of
    // Connection::run; kTimedOut at the deadline; kUnreachable where the server is gone; kEnded where it went while it
    // committed, so that nobody knows whether it did.
    core::Result<> transact(Access access, const core::Deadline& deadline, const Work& work);
    core::Result<> write(const core::Deadline& deadline, const Work& work) {
        return transact(Access::kWrite, deadline, work);
    }
    // What it writes is refused (kDenied).
    core::Result<> read(const core::Deadline& deadline, const Work& work) {
        return transact(Access::kRead, deadline, work);
    }

    // One statement in a transaction of its own. Errors: as write() and read().
    core::Result<int64_t> execute(const core::Deadline& deadline, std::string_view sql,
                                  const Values& values = {});
    core::Result<std::vector<Row>> query(const core::Deadline& deadline, std::string_view sql,
                                         const Values& values = {});

    const Place& place() const;
    Engine engine() const { return place().engine; }

  private:
    struct State;
    explicit Database(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;
};

}  // namespace belay::database
