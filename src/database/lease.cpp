#include "database/lease.h"

#include "core/units.h"
#include "core/utf8.h"

#include <chrono>
#include <utility>

namespace belay::database {

using core::Deadline;
using core::Result;

namespace {

constexpr core::Duration kShortestLease = std::chrono::milliseconds(1),
                         kLongestLease = std::chrono::hours(24);

int64_t lease_microseconds(core::Duration length) {
    return std::chrono::duration_cast<std::chrono::microseconds>(length).count();
}

}  // namespace

Result<std::optional<Lease>> Lease::take(Database& database, std::string name, std::string owner,
                                         core::Duration length, const Deadline& deadline) {
    if (length < kShortestLease || length > kLongestLease)
        return core::bad_input("a lease of {} is not from {} to {}", core::to_text(length),
                               core::to_text(kShortestLease), core::to_text(kLongestLease));
    Lease lease(database, std::move(name), std::move(owner), length);
    bool is_taken = false;
    BELAY_CHECK(database.write(deadline, [&](Transaction& transaction) -> Result<> {
        lease.held_until_ = Deadline::after(length);  // counted from before the database counts
        BELAY_TRY(row,
                  transaction.query_row(
                      "INSERT INTO belay_lease (name, owner, expires_at, term) VALUES (?, ?, {now} + ?, 1)"
                      " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner,"
                      " expires_at = excluded.expires_at, term = belay_lease.term + 1"
                      " WHERE belay_lease.expires_at <= {now} RETURNING term",
                      {lease.name_, lease.owner_, lease_microseconds(length)}));
        is_taken = row.has_value();
        if (row) lease.term_ = row->integer(0).value_or(0);
        return {};
    }));
    if (!is_taken) return std::optional<Lease>();
    return std::optional(std::move(lease));
}

Result<bool> Lease::renew(const Deadline& deadline) {
    Deadline held_until;
    bool is_ours = false;
    BELAY_CHECK(database_.write(deadline, [&](Transaction& transaction) -> Result<> {
        held_until = Deadline::after(length_);
        BELAY_TRY(changed, transaction.execute("UPDATE belay_lease SET expires_at = {now} + ?"
                                               " WHERE name = ? AND term = ? AND expires_at > {now}",
                                               {lease_microseconds(length_), name_, term_}));
        is_ours = changed == 1;
        return {};
    }));
    held_until_ = is_ours ? held_until : Deadline::after(core::Duration::zero());
    return is_ours;
}

Result<> Lease::give_back(const Deadline& deadline) {
    held_until_ = Deadline::after(core::Duration::zero());
    BELAY_CHECK(database_.execute(
        deadline, "UPDATE belay_lease SET expires_at = 0 WHERE name = ? AND term = ?", {name_, term_}));
    return {};
}

Result<> Lease::confirm(Transaction& transaction) const {
    BELAY_TRY(row, transaction.query_row(
                       "SELECT owner, term, expires_at > {now} FROM belay_lease WHERE name = ?", {name_}));
    if (row && row->integer(1) == term_ && row->truth(2)) return {};
    const std::string owner = row && row->integer(1) != term_ ? row->text(0).value_or("") : "";
    return core::system_error("the lease {} is lost: {}", core::printable(name_),
                              owner.empty() ? "it ran out" : "taken by " + core::printable(owner))
        .because(core::Cause::kDenied);
}

}  // namespace belay::database
