// The tree of accounts, as Slurm has it: projects nest, and who manages one manages those below it. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace belay::server {

class Accounts {
  public:
    // An account that is not named here has no parent. Later words replace earlier ones.
    void set_parent(std::string account, std::string parent);
    // Whether `account` is `above`, or lies below it. An empty name is never covered and covers nothing; a ring of
    // parents, which Slurm does not make, ends where it began.
    bool covers(std::string_view above, std::string_view account) const;
    // Whether one of these covers the account.
    bool any_covers(const std::set<std::string>& above, std::string_view account) const;

  private:
    std::map<std::string, std::string, std::less<>> parents_;
};

}  // namespace belay::server
