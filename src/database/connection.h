// One connection to an engine: what the pool holds and transactions run on. Each of the two engines implements it; nothing
// above Transaction uses it. One thread at a time.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/value.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::database {

// What a transaction may do, and what it sees.
enum class Access {
    kRead,       // a snapshot, which does not wait for writers
    kWrite,      // as if it were alone: serializable
    kMigration,  // alone among those that migrate, and seeing what the one before it has committed
};

// The answer to a statement, row by row: it holds one. Not to be used after its connection is gone.
class Cursor {
  public:
    virtual ~Cursor() = default;
    // False at the end. Errors: as of Connection::run.
    virtual core::Result<bool> next(Row& row) = 0;
    virtual bool is_at_end() const = 0;
    // How many rows were inserted, updated or deleted; known at the end.
    virtual int64_t changed() const = 0;
    const std::vector<std::string>& columns() const { return columns_; }

  protected:
    std::vector<std::string> columns_;
};

class Connection {
  public:
    virtual ~Connection() = default;

    // Errors: as of run.
    virtual core::Result<> begin(Access access, const core::Deadline& deadline) = 0;
    // Waits until the deadline of begin(). Errors: those of run; kSystem, kEnded where it is not known whether it has been
    // done.
    virtual core::Result<> commit() = 0;
    // Where this fails, is_usable() says so.
    virtual void rollback() = 0;

    // Runs one statement of the portable subset (sql.h), prepared and kept for the next time. One at a time: the cursor of
    // the one before must be at its end or gone. Errors: kBadInput for what sql.h and value.h refuse, and where data
    // contradict a constraint, because of kDuplicate and kReference; kSystem for SQL that the engine does not take, and because
    // of kConflict, kNoSpace, kDenied, kTimedOut at the deadline, kUnreachable.
    virtual core::Result<std::unique_ptr<Cursor>> run(std::string_view sql, const Values& values,
                                                      const core::Deadline& deadline) = 0;

    // Whether it can begin a transaction, as far as that can be known without asking the server.
    virtual bool is_usable() = 0;
};

}  // namespace belay::database
