#include "server/state/account_store.h"

#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;
using database::Values;

namespace {

// Collects rows into statements of a few hundred each.
class RowInserter {
  public:
    // "INSERT INTO … VALUES ", and "(?, ?)" for a row.
    RowInserter(Transaction& transaction, std::string begin, std::string marks)
        : transaction_(transaction), begin_(std::move(begin)), marks_(std::move(marks)) {}

    Result<> add(Values values) {
        rows_ += count_ == 0 ? "" : ", ";
        rows_ += marks_;
        for (database::Value& value : values) values_.push_back(std::move(value));
        constexpr size_t kAtOnce = 300;
        return ++count_ == kAtOnce ? finish() : Result<>();
    }
    Result<> finish() {
        if (count_ == 0) return {};
        BELAY_CHECK(transaction_.execute(begin_ + rows_, values_));
        rows_.clear();
        values_.clear();
        count_ = 0;
        return {};
    }

  private:
    Transaction& transaction_;
    std::string begin_, marks_, rows_;
    Values values_;
    size_t count_ = 0;
};

Result<> check_rows(const AccountRows& rows) {
    for (const AccountRow& row : rows.accounts) {
        BELAY_CHECK(check_plain_name(row.name, "name of an account"));
        if (!row.parent.empty()) BELAY_CHECK(check_plain_name(row.parent, "parent of an account"));
    }
    for (const MemberRow& row : rows.members) {
        BELAY_CHECK(check_plain_name(row.account, "name of an account"));
        BELAY_CHECK(check_plain_name(row.user, "name of a user"));
    }
    return {};
}

Result<> write_rows(Transaction& transaction, const std::map<std::string, std::string>& parents,
                    const std::map<std::pair<std::string, std::string>, bool>& members) {
    BELAY_CHECK(transaction.execute("DELETE FROM account"));
    BELAY_CHECK(transaction.execute("DELETE FROM account_member"));
    RowInserter accounts(transaction, "INSERT INTO account (name, parent) VALUES ", "(?, ?)");
    for (const auto& [name, parent] : parents) BELAY_CHECK(accounts.add({name, text_value(parent)}));
    BELAY_CHECK(accounts.finish());
    RowInserter inserter(transaction, "INSERT INTO account_member (account, user_name, is_manager) VALUES ",
                         "(?, ?, ?)");
    for (const auto& [who, is_manager] : members)
        BELAY_CHECK(inserter.add({who.first, who.second, truth_value(is_manager)}));
    return inserter.finish();
}

}  // namespace

Result<> replace_accounts(Database& database, const AccountRows& rows, const Deadline& deadline) {
    BELAY_CHECK(check_rows(rows));
    std::map<std::string, std::string> parents;
    for (const AccountRow& row : rows.accounts) parents[row.name] = row.parent;
    std::map<std::pair<std::string, std::string>, bool> members;
    for (const MemberRow& row : rows.members) members[{row.account, row.user}] = row.is_manager;
    return database.write(
        deadline, [&](Transaction& transaction) { return write_rows(transaction, parents, members); });
}

AccountTree::AccountTree(const std::vector<AccountRow>& rows) {
    for (const AccountRow& row : rows) {
        names_.push_back(row.name);
        if (!row.parent.empty()) accounts_.set_parent(row.name, row.parent);
    }
}

JobFilter AccountTree::expanded(JobFilter filter) const {
    std::set<std::string> all = filter.accounts;
    for (const std::string& name : names_)
        if (accounts_.any_covers(filter.accounts, name)) all.insert(name);
    filter.accounts = std::move(all);
    return filter;
}

Result<AccountTree> load_accounts(Database& database, const Deadline& deadline) {
    return in_read(database, deadline, [](Transaction& transaction) -> Result<AccountTree> {
        BELAY_TRY(rows, transaction.query("SELECT name, parent FROM account ORDER BY name"));
        std::vector<AccountRow> accounts;
        for (;;) {
            BELAY_TRY(row, rows.next());
            if (row == nullptr) return AccountTree(accounts);
            accounts.push_back({text_at(*row, 0), text_at(*row, 1)});
        }
    });
}

Result<Identity> identity_of(Transaction& transaction, std::string_view user) {
    Identity identity{.user = std::string(user)};
    if (user.empty()) return identity;
    BELAY_TRY(rows,
              transaction.query_all("SELECT account, is_manager FROM account_member WHERE user_name = ?",
                                    {std::string(user)}));
    for (const database::Row& row : rows) {
        identity.member_of.insert(text_at(row, 0));
        if (row.truth(1)) identity.manages.insert(text_at(row, 0));
    }
    return identity;
}
Result<Identity> identity_of(Database& database, std::string_view user, const Deadline& deadline) {
    return in_read(database, deadline,
                   [&](Transaction& transaction) { return identity_of(transaction, user); });
}

}  // namespace belay::server
