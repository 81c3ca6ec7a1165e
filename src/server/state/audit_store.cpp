#include "server/state/audit_store.h"

#include "core/text.h"
#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;
using database::Transaction;

namespace {

constexpr size_t kLongestAuditText = 1024;

AuditEntry audit_entry_of(const database::Row& row) {
    return {.number = row.integer(0).value_or(0),
            .who = text_at(row, 2),
            .what = text_at(row, 3),
            .job = text_at(row, 4),
            .owner = text_at(row, 5),
            .time = time_at(row, 1),
            .peer = text_at(row, 6)};
}

}  // namespace

Result<> append_audit(Transaction& transaction, const AuditEntry& entry) {
    if (entry.who.empty() || entry.what.empty())
        return core::bad_input("an entry of the audit log says who did what");
    const std::pair<const std::string*, std::string_view> texts[] = {{&entry.who, "name of who did it"},
                                                                     {&entry.what, "word for what was done"},
                                                                     {&entry.job, "key of the job"},
                                                                     {&entry.owner, "name of the owner"},
                                                                     {&entry.peer, "address"}};
    for (const auto& [text, what] : texts) BELAY_CHECK(check_readable(*text, what, kLongestAuditText));
    BELAY_CHECK(transaction.execute(
        "INSERT INTO audit (at_time, who, what, job_key, owner_name, peer) VALUES (?, ?, ?, ?, ?, ?)",
        {time_value(entry.time), entry.who, entry.what, text_value(entry.job), text_value(entry.owner),
         text_value(entry.peer)}));
    return {};
}
Result<> append_audit(database::Database& database, const AuditEntry& entry, const core::Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return append_audit(transaction, entry); });
}

Result<AuditPage> list_audit(database::Database& database, const AuditConditions& conditions,
                             const Page& page, const core::Deadline& deadline) {
    BELAY_CHECK(check_page(page));
    std::string where;
    database::Values values;
    const auto narrow = [&](std::string_view condition, database::Value value) {
        where += where.empty() ? " WHERE " : " AND ";
        where += condition;
        values.push_back(std::move(value));
    };
    if (conditions.who) narrow("who = ?", *conditions.who);
    if (conditions.owner) narrow("owner_name = ?", *conditions.owner);
    if (conditions.job) narrow("job_key = ?", *conditions.job);
    if (!page.cursor.empty()) {
        const auto before = core::parse_number<int64_t>(page.cursor);
        if (!before) return core::bad_input("the cursor is not one of a page before");
        narrow("id < ?", *before);
    }
    BELAY_TRY(rows, database.query(
                        deadline,
                        fmt::format("SELECT id, at_time, who, what, job_key, owner_name, peer FROM audit{}"
                                    " ORDER BY id DESC LIMIT {}",
                                    where, page.size + 1),
                        values));
    AuditPage found;
    const bool has_more = rows.size() > page.size;
    if (has_more) rows.resize(page.size);
    for (const database::Row& row : rows) found.entries.push_back(audit_entry_of(row));
    if (has_more) found.next = std::to_string(found.entries.back().number);
    return found;
}

}  // namespace belay::server
