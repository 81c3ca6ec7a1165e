// Projects and who belongs to them, as Slurm's accounting says: a tree of accounts, and for each its members and managers.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"
#include "server/access/accounts.h"
#include "server/access/policy.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct AccountRow {
    std::string name;
    std::string parent = {};  // empty: at the top
};
struct MemberRow {
    std::string account, user;
    bool is_manager = false;  // who manages an account is a member too
};
struct AccountRows {
    std::vector<AccountRow> accounts;
    std::vector<MemberRow> members;
};

// Puts these in the place of all that were there, all or nothing. Of rows that are there twice the later one counts. Errors:
// kBadInput for names that cannot be; those of Database::transact.
core::Result<> replace_accounts(database::Database& database, const AccountRows& rows,
                                const core::Deadline& deadline);

// All accounts at a time. A value: it does not follow what is written later.
class AccountTree {
  public:
    AccountTree() = default;
    explicit AccountTree(const std::vector<AccountRow>& rows);

    const Accounts& accounts() const { return accounts_; }
    // The filter with its accounts and all that lie below them, as list_jobs() takes it. What is shared stays: it is for
    // members of that account alone.
    JobFilter expanded(JobFilter filter) const;

  private:
    Accounts accounts_;
    std::vector<std::string> names_;
};
// Errors of these: those of Database::transact.
core::Result<AccountTree> load_accounts(database::Database& database, const core::Deadline& deadline);

// The user with their accounts; of one who is not known, without any. How they were recognised, and whether they are staff,
// is not known here.
core::Result<Identity> identity_of(database::Transaction& transaction, std::string_view user);
core::Result<Identity> identity_of(database::Database& database, std::string_view user,
                                   const core::Deadline& deadline);

}  // namespace belay::server
