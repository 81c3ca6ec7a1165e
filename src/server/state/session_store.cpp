#include "server/state/session_store.h"

#include "core/hash.h"
#include "server/access/token.h"
#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <array>
#include <utility>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;

namespace {

// Only those two begin sessions.
constexpr std::array kProofWords = {Word<Proof>{Proof::kOidc, "oidc"}, Word<Proof>{Proof::kLink, "link"}};

Result<StoredSession> session_of(const database::Row& row) {
    BELAY_TRY(proof, word_at(kProofWords, row, 4));
    return StoredSession{.id = text_at(row, 0),
                         .digest = row.bytes(1).value_or(""),
                         .facts = {.user = text_at(row, 2),
                                   .is_staff = row.truth(3),
                                   .proof = proof,
                                   .job = row.text(5),
                                   .expires = time_at(row, 6)}};
}

Result<> check_session(const SessionFacts& facts, core::Time now) {
    BELAY_CHECK(check_plain_name(facts.user, "name of the user"));
    if (facts.expires <= now) return core::bad_input("a session must expire later than now");
    if (word_of(kProofWords, facts.proof).empty())
        return core::bad_input("a session is begun by a login or a link");
    if ((facts.proof == Proof::kLink) != facts.job.has_value())
        return core::bad_input("the session of a link, and no other, shows one job");
    return {};
}

}  // namespace

Result<MadeSession> create_session(Transaction& transaction, const SessionFacts& facts, core::Time now) {
    BELAY_CHECK(check_session(facts, now));
    BELAY_TRY(token, make_token());
    const core::Sha256Digest digest = token.digest();
    BELAY_CHECK(transaction.execute(
        "INSERT INTO session (id, digest, user_name, is_staff, proof, job_key, created, expires)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        {token.id, database::Bytes(std::string(core::bytes_of(digest))), facts.user,
         truth_value(facts.is_staff), std::string(word_of(kProofWords, facts.proof)),
         database::or_null(facts.job), time_value(now), time_value(facts.expires)}));
    return MadeSession{.id = token.id, .text = token.text()};
}
Result<MadeSession> create_session(Database& database, const SessionFacts& facts, core::Time now,
                                   const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return create_session(transaction, facts, now); });
}

Result<std::optional<StoredSession>> find_session(Transaction& transaction, std::string_view id) {
    BELAY_TRY(row, transaction.query_row("SELECT id, digest, user_name, is_staff, proof, job_key, expires"
                                         " FROM session WHERE id = ?",
                                         {std::string(id)}));
    if (!row) return std::optional<StoredSession>();
    BELAY_TRY(session, session_of(*row));
    return std::optional(std::move(session));
}
Result<std::optional<StoredSession>> find_session(Database& database, std::string_view id,
                                                  const Deadline& deadline) {
    return in_read(database, deadline,
                   [&](Transaction& transaction) { return find_session(transaction, id); });
}

Result<bool> end_session(Database& database, std::string_view id, const Deadline& deadline) {
    BELAY_TRY(changed, database.execute(deadline, "DELETE FROM session WHERE id = ?", {std::string(id)}));
    return changed == 1;
}
Result<int64_t> end_sessions_of(Database& database, std::string_view user, const Deadline& deadline) {
    return database.execute(deadline, "DELETE FROM session WHERE user_name = ?", {std::string(user)});
}
Result<int64_t> end_sessions_of_job(Database& database, std::string_view job, const Deadline& deadline) {
    return database.execute(deadline, "DELETE FROM session WHERE job_key = ?", {std::string(job)});
}

}  // namespace belay::server
