// A connection of libpq that waits for nothing longer than until a deadline. Where that comes, or the server goes, in the
// middle of something, nothing more is done over it.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/place.h"
#include "database/postgres_hosts.h"

#include <memory>
#include <string>

typedef struct pg_conn PGconn;      // libpq-fe.h
typedef struct pg_result PGresult;  // libpq-fe.h

namespace belay::database {

struct ClearPostgres {
    void operator()(PGconn* connection) const;
    void operator()(PGresult* result) const;
};
using PostgresResult = std::unique_ptr<PGresult, ClearPostgres>;

// Where a server is and who we are there; shared by its connections. Thread-safe.
class PostgresServer {
  public:
    PostgresServer(const Place& place, const std::string& application);
    const std::string& name() const { return name_; }
    // As libpq takes them. Errors: those of with_addresses.
    core::Result<PostgresSettings> settings(const core::Deadline& deadline);

  private:
    std::string name_;
    PostgresSettings settings_;
    HostLookup lookup_;
};

class PostgresLink {
  public:
    // Errors: those of Database::open.
    static core::Result<PostgresLink> open(PostgresServer& server, const core::Deadline& deadline);

    // After one of libpq's PQsend functions, which has answered `sent`: until all of it has gone out. Errors: kSystem,
    // kUnreachable, kTimedOut.
    core::Result<> send(int sent, const core::Deadline& deadline);
    // The next result of a statement; null when it is over. Errors: as send.
    core::Result<PostgresResult> next(const core::Deadline& deadline);
    // Drops what is left of a statement. Errors: as send; the first that the server says.
    core::Result<> finish(const core::Deadline& deadline);
    // Statements without parameters. Errors: as finish.
    core::Result<> execute(const std::string& sql, const core::Deadline& deadline);

    // What the server said instead of an answer.
    core::Error error_of(const PGresult* result);
    // Of that error; "" where the last statement met none.
    const std::string& last_sqlstate() const { return last_sqlstate_; }

    PGconn* get() const { return connection_.get(); }
    bool is_broken() const { return is_broken_; }
    void give_up() { is_broken_ = true; }
    // Whether it is still there and has nothing to do.
    bool is_idle();
    bool is_in_sound_transaction() const;

  private:
    explicit PostgresLink(PGconn* connection) : connection_(connection) {}
    core::Result<> connect(const std::string& name, const core::Deadline& deadline);
    core::Result<> check_server(const std::string& name) const;
    core::Result<short> wait_for(short events, const core::Deadline& deadline);
    core::Result<> consume();
    core::Error lost();

    std::unique_ptr<PGconn, ClearPostgres> connection_;
    std::string last_sqlstate_;
    bool is_broken_ = false;
};

}  // namespace belay::database
