#include "server/state/link_store.h"

#include "core/hash.h"
#include "server/access/token.h"
#include "server/state/names.h"
#include "server/state/page.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;

namespace {

constexpr std::string_view kLinkColumns =
    "id, digest, job_key, made_by, is_staff, is_once, created, expires, taken";
constexpr auto kLongestLinkLife = std::chrono::days(366);

StoredLink link_of(const database::Row& row) {
    return {.id = text_at(row, 0),
            .facts = {.job = text_at(row, 2),
                      .made_by = text_at(row, 3),
                      .is_staff = row.truth(4),
                      .is_once = row.truth(5),
                      .expires = time_at(row, 7)},
            .created = time_at(row, 6),
            .taken = optional_time_at(row, 8)};
}

}  // namespace

Result<MadeLink> create_link(Transaction& transaction, const LinkFacts& facts, core::Time now) {
    BELAY_CHECK(check_plain_name(facts.made_by, "name of the user"));
    if (facts.expires <= now) return core::bad_input("a link must expire later than now");
    if (facts.expires > now + kLongestLinkLife) return core::bad_input("a link expires within a year");
    BELAY_TRY(token, make_token());
    const core::Sha256Digest digest = token.digest();
    BELAY_CHECK(transaction.execute(
        "INSERT INTO link (id, digest, job_key, made_by, is_staff, is_once, created, expires)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        {token.id, database::Bytes(std::string(core::bytes_of(digest))), facts.job, facts.made_by,
         truth_value(facts.is_staff), truth_value(facts.is_once), time_value(now),
         time_value(facts.expires)}));
    return MadeLink{.id = token.id, .text = token.text()};
}
Result<MadeLink> create_link(Database& database, const LinkFacts& facts, core::Time now,
                             const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return create_link(transaction, facts, now); });
}

// The digest is compared here and not in SQL, whose comparison stops at the first byte that differs. That nobody else takes it in
// between is what a writing transaction is for: the other one is run again, and finds it taken.
Result<std::optional<StoredLink>> take_link(Transaction& transaction, std::string_view text, core::Time now) {
    const auto token = parse_token(text);
    if (!token) return std::optional<StoredLink>();
    BELAY_TRY(row, transaction.query_row(fmt::format("SELECT {} FROM link WHERE id = ?", kLinkColumns),
                                         {token->id}));
    if (!row || !is_token_of(*token, row->bytes(1).value_or(""))) return std::optional<StoredLink>();
    StoredLink link = link_of(*row);
    if (now >= link.facts.expires || (link.facts.is_once && link.taken)) return std::optional<StoredLink>();
    BELAY_TRY(changed,
              transaction.execute("UPDATE link SET taken = ? WHERE id = ? AND (is_once = 0 OR taken IS NULL)",
                                  {time_value(now), link.id}));
    if (changed != 1) return std::optional<StoredLink>();
    link.taken = now;
    return std::optional(std::move(link));
}
Result<std::optional<StoredLink>> take_link(Database& database, std::string_view text, core::Time now,
                                            const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return take_link(transaction, text, now); });
}

Result<std::vector<StoredLink>> list_links(Database& database, std::string_view job, core::Time now,
                                           const Deadline& deadline) {
    BELAY_TRY(rows, database.query(deadline,
                                   fmt::format("SELECT {} FROM link WHERE job_key = ? AND expires > ?"
                                               " AND (is_once = 0 OR taken IS NULL)"
                                               " ORDER BY created DESC, id LIMIT {}",
                                               kLinkColumns, kLargestPage),
                                   {std::string(job), time_value(now)}));
    std::vector<StoredLink> links;
    for (const database::Row& row : rows) links.push_back(link_of(row));
    return links;
}

Result<bool> remove_link(Transaction& transaction, std::string_view job, std::string_view id) {
    BELAY_TRY(changed, transaction.execute("DELETE FROM link WHERE job_key = ? AND id = ?",
                                           {std::string(job), std::string(id)}));
    return changed == 1;
}
Result<bool> remove_link(Database& database, std::string_view job, std::string_view id,
                         const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return remove_link(transaction, job, id); });
}

}  // namespace belay::server
