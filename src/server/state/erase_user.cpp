#include "server/state/erase_user.h"

#include "server/state/audit_store.h"
#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <string>

namespace belay::server {

using core::Result;
using database::Transaction;

namespace {

// What shows a job is gone before the job forgets whose it was.
Result<> erase_ways_in(Transaction& transaction, const std::string& user, ErasedUser& erased) {
    BELAY_TRY(tokens,
              transaction.execute("DELETE FROM token WHERE user_name = ? AND role <> 'node'", {user}));
    BELAY_TRY(sessions,
              transaction.execute("DELETE FROM session WHERE user_name = ? OR job_key IN"
                                  " (SELECT job_key FROM job WHERE user_name = ? AND phase = 'erased')",
                                  {user, user}));
    BELAY_TRY(links,
              transaction.execute("DELETE FROM link WHERE made_by = ? OR job_key IN"
                                  " (SELECT job_key FROM job WHERE user_name = ? AND phase = 'erased')",
                                  {user, user}));
    BELAY_TRY(memberships, transaction.execute("DELETE FROM account_member WHERE user_name = ?", {user}));
    erased.tokens = tokens;
    erased.sessions = sessions;
    erased.links = links;
    erased.memberships = memberships;
    return {};
}

Result<> erase_from_jobs(Transaction& transaction, const std::string& user, core::Time now,
                         ErasedUser& erased) {
    BELAY_TRY(jobs, transaction.execute("UPDATE job SET user_name = NULL, job_name = NULL, phase_why = NULL,"
                                        " sharing = 'owner', shares_last_words = 0, changed = ?"
                                        " WHERE user_name = ? AND phase = 'erased'",
                                        {time_value(now), user}));
    BELAY_TRY(left, transaction.query_row("SELECT count(*) FROM job WHERE user_name = ?", {user}));
    erased.jobs = jobs;
    erased.jobs_left = left ? left->integer(0).value_or(0) : 0;
    return {};
}

// First what they did with their own, then what others did with it.
Result<> erase_from_audit(Transaction& transaction, const std::string& user, ErasedUser& erased) {
    const std::string nobody(kErasedPerson);
    BELAY_TRY(own, transaction.execute("UPDATE audit SET who = ?, peer = NULL"
                                       " WHERE who = ? AND (owner_name IS NULL OR owner_name = ?)",
                                       {nobody, user, user}));
    BELAY_TRY(owned, transaction.execute("UPDATE audit SET owner_name = ? WHERE owner_name = ? AND who <> ?",
                                         {nobody, user, nobody}));
    BELAY_CHECK(transaction.execute("UPDATE audit SET owner_name = ? WHERE owner_name = ?", {nobody, user}));
    erased.audit_entries = own + owned;
    return {};
}

}  // namespace

Result<ErasedUser> erase_user(Transaction& transaction, std::string_view user, core::Time now) {
    BELAY_CHECK(check_plain_name(user, "name of the user"));
    const std::string name(user);
    ErasedUser erased;
    BELAY_CHECK(erase_ways_in(transaction, name, erased));
    BELAY_CHECK(erase_from_jobs(transaction, name, now, erased));
    BELAY_CHECK(erase_from_audit(transaction, name, erased));
    return erased;
}
Result<ErasedUser> erase_user(database::Database& database, std::string_view user, core::Time now,
                              const core::Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return erase_user(transaction, user, now); });
}

}  // namespace belay::server
