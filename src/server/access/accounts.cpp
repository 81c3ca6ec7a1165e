#include "server/access/accounts.h"

#include <algorithm>
#include <utility>

namespace belay::server {

void Accounts::set_parent(std::string account, std::string parent) {
    parents_[std::move(account)] = std::move(parent);
}

bool Accounts::covers(std::string_view above, std::string_view account) const {
    if (above.empty() || account.empty()) return false;
    // As many steps as there are accounts, at most: then it is a ring.
    for (size_t steps = 0; steps <= parents_.size(); ++steps) {
        if (account == above) return true;
        const auto found = parents_.find(account);
        if (found == parents_.end()) return false;
        account = found->second;
    }
    return false;
}

bool Accounts::any_covers(const std::set<std::string>& above, std::string_view account) const {
    return std::ranges::any_of(above, [&](const std::string& one) { return covers(one, account); });
}

}  // namespace belay::server
