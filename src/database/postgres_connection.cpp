#include "database/postgres_connection.h"

#include "core/text.h"
#include "database/cause.h"
#include "database/sql.h"

#include <libpq-fe.h>
#include <utility>

namespace belay::database {

using core::Cause;
using core::Deadline;
using core::Error;
using core::Result;

namespace {

constexpr size_t kMostPrepared = 256;  // by each connection
constexpr int kBinaryResults = 1;
constexpr int64_t kMigrationLock = 0x62656c6179;  // "belay"; advisory locks are those of one database

std::string begin_of(Access access) {
    switch (access) {
        case Access::kRead:
            return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        case Access::kWrite:
            return "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE";
        case Access::kMigration:
            // At any other level it would see what was there before it waited.
            return fmt::format(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({})",
                kMigrationLock);
    }
    return "BEGIN";
}

// "INSERT 0 5", "UPDATE 3" and "DELETE 1" are what the protocol has for it; "SELECT 7" counts rows of an answer.
int64_t changed_by(PGresult* result) {
    const std::string_view tag = PQcmdStatus(result);
    if (tag.starts_with("SELECT")) return 0;
    return core::parse_number<int64_t>(PQcmdTuples(result)).value_or(0);
}

// Reads one row ahead, so that it knows when the last one has come.
class PostgresCursor : public Cursor {
  public:
    PostgresCursor(PostgresLink& link, const Deadline& deadline) : link_(&link), deadline_(deadline) {}
    PostgresCursor(const PostgresCursor&) = delete;
    PostgresCursor& operator=(const PostgresCursor&) = delete;
    ~PostgresCursor() override {
        if (!pending_) return;
        pending_.reset();
        // What goes wrong shows when the transaction ends.
        (void)link_->finish(deadline_);
    }

    Result<bool> next(Row& row) override {
        if (!pending_) return false;
        BELAY_CHECK(read_row(pending_.get(), row));
        BELAY_CHECK(advance());
        return true;
    }
    bool is_at_end() const override { return !pending_; }
    int64_t changed() const override { return changed_; }

    Result<> advance() {
        pending_.reset();
        BELAY_TRY(result, link_->next(deadline_));
        if (!result) return {};
        switch (PQresultStatus(result.get())) {
            case PGRES_SINGLE_TUPLE:
                note_columns(result.get());
                pending_ = std::move(result);
                return {};
            case PGRES_TUPLES_OK:
            case PGRES_COMMAND_OK:
                note_columns(result.get());
                changed_ = changed_by(result.get());
                return link_->finish(deadline_);
            default:
                Error error = link_->error_of(result.get());
                (void)link_->finish(deadline_);
                return std::unexpected(std::move(error));
        }
    }

  private:
    void note_columns(const PGresult* result) {
        if (!columns_.empty()) return;
        for (int i = 0; i < PQnfields(result); ++i) columns_.emplace_back(PQfname(result, i));
    }

    PostgresLink* link_;
    Deadline deadline_;
    PostgresResult pending_;
    int64_t changed_ = 0;
};

}  // namespace

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(PostgresServer& server,
                                                                     const Deadline& deadline) {
    BELAY_TRY(link, PostgresLink::open(server, deadline));
    return std::unique_ptr<PostgresConnection>(new PostgresConnection(std::move(link)));
}

Result<> PostgresConnection::begin(Access access, const Deadline& deadline) {
    deadline_ = deadline;
    return link_.execute(begin_of(access), deadline_);
}

Result<> PostgresConnection::commit() {
    // COMMIT after a failure is a rollback that says nothing of it.
    if (!link_.is_in_sound_transaction())
        return core::system_error("PostgreSQL: a statement failed while the rest of its rows was dropped");
    auto done = link_.execute("COMMIT", deadline_);
    if (done || !link_.is_broken()) return done;
    return std::unexpected(std::move(done.error())
                               .after(" while a transaction was being committed: whether it was is not known")
                               .because(Cause::kEnded));
}

void PostgresConnection::rollback() {
    if (!link_.execute("ROLLBACK", deadline_)) link_.give_up();
}

Result<> PostgresConnection::make_room() {
    if (statements_.size() < kMostPrepared) return {};
    BELAY_CHECK(link_.execute("DEALLOCATE ALL", deadline_));
    statements_.clear();
    return {};
}

Result<PostgresConnection::Statement> PostgresConnection::prepare(std::string_view sql, const Values& values,
                                                                  const PostgresParameters& parameters) {
    BELAY_TRY(native, to_native(sql, Engine::kPostgres));
    BELAY_CHECK(check_parameters(values, native.parameters));
    BELAY_CHECK(make_room());
    Statement statement{.name = fmt::format("belay{}", ++prepared_), .parameters = native.parameters};
    BELAY_CHECK(link_.send(PQsendPrepare(link_.get(), statement.name.c_str(), native.sql.c_str(),
                                         static_cast<int>(parameters.types.size()), parameters.types.data()),
                           deadline_));
    BELAY_CHECK(link_.finish(deadline_));
    return statement;
}

Result<std::unique_ptr<Cursor>> PostgresConnection::start(const Statement& statement,
                                                          const PostgresParameters& parameters) {
    const int sent = PQsendQueryPrepared(
        link_.get(), statement.name.c_str(), static_cast<int>(parameters.types.size()),
        parameters.begins.data(), parameters.lengths.data(), parameters.formats.data(), kBinaryResults);
    if (sent != 0) PQsetSingleRowMode(link_.get());
    BELAY_CHECK(link_.send(sent, deadline_));
    auto cursor = std::make_unique<PostgresCursor>(link_, deadline_);
    BELAY_CHECK(cursor->advance());
    return cursor;
}

Result<std::unique_ptr<Cursor>> PostgresConnection::run(std::string_view sql, const Values& values,
                                                        const Deadline& deadline) {
    deadline_ = deadline;
    const PostgresParameters parameters(values);
    const std::string key = fmt::format("{} {}", parameters.signature, sql);
    auto kept = statements_.find(key);
    if (kept == statements_.end()) {
        BELAY_TRY(statement, prepare(sql, values, parameters));
        kept = statements_.emplace(key, std::move(statement)).first;
        return start(kept->second, parameters);
    }
    BELAY_CHECK(check_parameters(values, kept->second.parameters));
    auto cursor = start(kept->second, parameters);
    if (cursor) return cursor;
    // What was prepared has another answer since others changed the schema, or was dropped. Once more on a new connection.
    const std::string& sqlstate = link_.last_sqlstate();
    if (sqlstate != "0A000" && sqlstate != "26000") return cursor;
    link_.give_up();
    return std::unexpected(std::move(cursor.error()).because(kConflict));
}

}  // namespace belay::database
