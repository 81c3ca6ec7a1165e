#include "database/lease.h"

#include "database/testing/fixture.h"

#include <thread>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

using namespace std::chrono_literals;
using core::Cause;
using core::Result;

std::optional<Lease> take(Database& database, const char* owner, core::Duration length) {
    return Lease::take(database, "work", owner, length, soon()).value();
}

// Whether the row may be written under the lease.
Result<> work_under(Database& database, const Lease& lease) {
    return database.write(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(lease.confirm(transaction));
        BELAY_CHECK(transaction.execute("INSERT INTO done VALUES (?)", {lease.term()}));
        return {};
    });
}

constexpr std::string_view kDone = "CREATE TABLE done (term {int64}) {strict}";

TEST_P(OnEngine, lease_is_that_of_one_at_a_time) {
    make({kLeaseTable, kDone});
    Database here = open(), there = open();
    auto ours = take(here, "here", 10min);
    ASSERT_TRUE(ours);
    EXPECT_FALSE(ours->held_until().is_over());
    EXPECT_EQ(ours->term(), 1);
    EXPECT_FALSE(take(there, "there", 10min));
    EXPECT_FALSE(take(here, "here", 10min)) << "nor twice by one";
    EXPECT_TRUE(Lease::take(there, "other work", "there", 10min, soon()).value());
    EXPECT_TRUE(ours->renew(soon()).value());
    EXPECT_TRUE(work_under(here, *ours));

    ASSERT_TRUE(ours->give_back(soon()));
    EXPECT_TRUE(ours->held_until().is_over());
    auto theirs = take(there, "there", 10min);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(theirs->term(), 2);
    EXPECT_FALSE(ours->renew(soon()).value());
    ASSERT_TRUE(ours->give_back(soon())) << "which is another's now";
    EXPECT_TRUE(theirs->renew(soon()).value());
    auto refused = work_under(here, *ours);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), Cause::kDenied);
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("taken by there"));
    EXPECT_EQ(number_of(here, "SELECT count(*) FROM done"), 1);
}

TEST_P(OnEngine, lease_that_is_not_renewed_is_taken_over) {
    make({kLeaseTable, kDone});
    Database here = open(), there = open();
    auto ours = take(here, "here", 1ms);
    ASSERT_TRUE(ours);
    std::optional<Lease> theirs;
    for (auto until = soon(); !theirs && !until.is_over();) theirs = take(there, "there", 10min);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(theirs->term(), 2);
    EXPECT_FALSE(ours->renew(soon()).value());
    EXPECT_FALSE(work_under(here, *ours));
    EXPECT_TRUE(work_under(there, *theirs));
}

TEST_P(OnEngine, lease_that_ran_out_is_lost_also_where_nobody_took_it) {
    make({kLeaseTable, kDone});
    Database database = open();
    auto lease = take(database, "here", 1ms);
    ASSERT_TRUE(lease);
    while (number_of(database, "SELECT count(*) FROM belay_lease WHERE expires_at > {now}") != 0)
        std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(lease->renew(soon()).value());
    auto refused = work_under(database, *lease);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("it ran out"));
    EXPECT_EQ(Lease::take(database, "work", "here", 25h, soon()).error().kind(), core::ErrorKind::kBadInput);
}

TEST_P(OnEngine, lease_taken_by_many_at_once_is_that_of_one) {
    make({kLeaseTable});
    auto try_it = [this] {
        Database own = open();
        return take(own, "somebody", 10min) ? 0 : 1;
    };
    std::vector<core::Process> processes;
    for (int i = 0; i < 4; ++i) processes.push_back(in_process(try_it));
    int winners = 0;
    for (core::Process& process : processes) winners += process.wait().value().success() ? 1 : 0;
    EXPECT_EQ(winners, 1);
}

}  // namespace
}  // namespace belay::database
