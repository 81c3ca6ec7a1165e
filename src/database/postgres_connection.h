// A connection to PostgreSQL, as transactions use it.
#pragma once

#include "core/deadline.h"
#include "database/connection.h"
#include "database/postgres_link.h"
#include "database/postgres_values.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace belay::database {

class PostgresConnection : public Connection {
  public:
    // The server outlives it. Errors: those of Database::open.
    static core::Result<std::unique_ptr<PostgresConnection>> open(PostgresServer& server,
                                                                  const core::Deadline& deadline);

    core::Result<> begin(Access access, const core::Deadline& deadline) override;
    core::Result<> commit() override;
    void rollback() override;
    core::Result<std::unique_ptr<Cursor>> run(std::string_view sql, const Values& values,
                                              const core::Deadline& deadline) override;
    bool is_usable() override { return link_.is_idle(); }

  private:
    struct Statement {
        std::string name;  // on this connection
        size_t parameters = 0;
    };
    explicit PostgresConnection(PostgresLink link) : link_(std::move(link)) {}

    core::Result<Statement> prepare(std::string_view sql, const Values& values,
                                    const PostgresParameters& parameters);
    core::Result<> make_room();
    core::Result<std::unique_ptr<Cursor>> start(const Statement& statement,
                                                const PostgresParameters& parameters);

    PostgresLink link_;
    core::Deadline deadline_;  // of the transaction
    std::map<std::string, Statement, std::less<>>
        statements_;       // by the types of their parameters and their text
    size_t prepared_ = 0;  // so far
};

}  // namespace belay::database
