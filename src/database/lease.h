// Work that only one of several processes may do, on whichever host: the one that holds a lease of that name does it. A lease
// is a row with an owner and a time until which it is theirs, by the clock of the database; whoever stops renewing it loses it.
//
//   BELAY_TRY(lease, Lease::take(database, "scheduler", name_of_this_process, 30s, deadline));
//   if (lease) ...                                    // until it is renewed no more; every 10 s, say
//   BELAY_CHECK(database.write(deadline, [&](Transaction& transaction) -> Result<> {
//       BELAY_CHECK(lease->confirm(transaction));     // what follows is written only while it is ours
//       ...
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::database {

// A step for the program's migrations.
inline constexpr std::string_view kLeaseTable =
    "CREATE TABLE belay_lease (name {text} PRIMARY KEY, owner {text} NOT NULL,"
    " expires_at {int64} NOT NULL, term {int64} NOT NULL) {strict}";

class Lease {
  public:
    // Nothing where another one has it. `owner` is for people, so that they see who has it: host and process. Errors:
    // kBadInput for a length that is not from 1 ms to a day; those of Database::transact.
    static core::Result<std::optional<Lease>> take(Database& database, std::string name, std::string owner,
                                                   core::Duration length, const core::Deadline& deadline);

    // For its length from now on; false where it has been lost, also where it ran out and nobody took it. Errors: as take;
    // it is held then until it runs out.
    core::Result<bool> renew(const core::Deadline& deadline);
    // For others to take at once. One that has been lost stays lost.
    core::Result<> give_back(const core::Deadline& deadline);

    // Whether what this transaction writes may be written: it commits only while the lease is ours. Errors: kSystem, kDenied
    // where it is lost; those of Connection::run.
    core::Result<> confirm(Transaction& transaction) const;

    // By our own clock, for deciding whether to begin something: nobody else has taken it before this is over, as long as
    // that clock and the database's run at the same speed.
    const core::Deadline& held_until() const { return held_until_; }
    // How many times it has been taken so far: what is done elsewhere can refuse an older one.
    int64_t term() const { return term_; }

  private:
    Lease(Database database, std::string name, std::string owner, core::Duration length)
        : database_(std::move(database)), name_(std::move(name)), owner_(std::move(owner)), length_(length) {}

    Database database_;
    std::string name_, owner_;
    core::Duration length_;
    core::Deadline held_until_;
    int64_t term_ = 0;
};

}  // namespace belay::database
