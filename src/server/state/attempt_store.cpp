#include "server/state/attempt_store.h"

#include "core/hash.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <cstdint>
#include <utility>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;

namespace {

database::Bytes digest_bytes(std::string_view text) {
    const core::Sha256Digest digest = core::sha256(text);
    return database::Bytes(std::string(core::bytes_of(digest)));
}

Result<int64_t> count_attempts(Transaction& transaction) {
    BELAY_TRY(row, transaction.query_row("SELECT count(*) FROM login_attempt"));
    return row ? row->integer(0).value_or(0) : 0;
}

Result<> make_room(Transaction& transaction, core::Time now) {
    BELAY_TRY(before, count_attempts(transaction));
    if (before < static_cast<int64_t>(kMostLoginAttempts)) return {};
    BELAY_CHECK(transaction.execute("DELETE FROM login_attempt WHERE expires <= ?", {time_value(now)}));
    BELAY_TRY(left, count_attempts(transaction));
    if (left < static_cast<int64_t>(kMostLoginAttempts)) return {};
    return core::negative("more than {} logins have been begun and not ended", kMostLoginAttempts)
        .because(core::Cause::kNoSpace);
}

}  // namespace

Result<> put_attempt(Database& database, const StoredAttempt& attempt, core::Time now,
                     const Deadline& deadline) {
    return database.write(deadline, [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(make_room(transaction, now));
        BELAY_CHECK(
            transaction.execute("INSERT INTO login_attempt (state_digest, issuer, nonce, verifier, "
                                "browser_digest, next_page, expires)"
                                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                                {digest_bytes(attempt.attempt.state), attempt.issuer, attempt.attempt.nonce,
                                 attempt.attempt.verifier, digest_bytes(attempt.browser), attempt.next,
                                 time_value(attempt.attempt.expires)}));
        return {};
    });
}

Result<std::optional<StoredAttempt>> take_attempt(Database& database, std::string_view state,
                                                  std::string_view browser, core::Time now,
                                                  const Deadline& deadline) {
    return in_write(
        database, deadline, [&](Transaction& transaction) -> Result<std::optional<StoredAttempt>> {
            // By digests: how long a comparison takes says nothing about what was digested.
            BELAY_TRY(row, transaction.query_row(
                               "DELETE FROM login_attempt WHERE state_digest = ? AND browser_digest = ?"
                               " AND expires > ? RETURNING nonce, verifier, expires, issuer, next_page",
                               {digest_bytes(state), digest_bytes(browser), time_value(now)}));
            if (!row) return std::optional<StoredAttempt>();
            return StoredAttempt{.attempt = {.state = std::string(state),
                                             .nonce = text_at(*row, 0),
                                             .verifier = text_at(*row, 1),
                                             .expires = time_at(*row, 2)},
                                 .issuer = text_at(*row, 3),
                                 .browser = std::string(browser),
                                 .next = text_at(*row, 4)};
        });
}

}  // namespace belay::server
