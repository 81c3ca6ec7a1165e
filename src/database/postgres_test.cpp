// What only PostgreSQL has: a server that goes and comes back.
#include "database/backup.h"
#include "database/cause.h"
#include "database/testing/fixture.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

using namespace std::chrono_literals;
using core::Cause;
using core::Deadline;
using core::Result;
using ::testing::HasSubstr;

constexpr const char* kNotInstalled = "PostgreSQL is not installed (package postgresql)";
bool is_installed() {
    return testing::PrivatePostgres::programs().has_value();
}

// One that the test may kill.
struct OwnServer {
    std::unique_ptr<testing::PrivatePostgres> server = testing::PrivatePostgres::start().value();
    std::string place = server->create_database().value();
    Database database = Database::open(place, {}, soon()).value();
};

Result<> raise_error(Database& database, const char* sqlstate) {
    return database.write(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(transaction.execute(
            fmt::format("DO 'BEGIN RAISE EXCEPTION ''raised'' USING ERRCODE = ''{}''; END'", sqlstate)));
        return {};
    });
}

TEST(database, server_that_was_killed_and_is_back) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    OwnServer f;
    ASSERT_TRUE(f.database.execute(soon(), "CREATE TABLE fact (x {int64}) {strict}"));
    ASSERT_TRUE(f.database.execute(soon(), "INSERT INTO fact VALUES (1)"));
    int runs = 0;
    auto lost = f.database.write(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(transaction.execute("INSERT INTO fact VALUES (2)"));
        if (++runs == 1) {
            EXPECT_TRUE(f.server->kill());
            while (transaction.execute("SELECT 1")) std::this_thread::sleep_for(10ms);
        }
        return {};
    });
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().cause(), Cause::kUnreachable) << lost.error().render();
    for (int i = 0; i < 3; ++i) {
        auto gone = f.database.query(Deadline::after(30s), "SELECT x FROM fact");
        ASSERT_FALSE(gone);
        EXPECT_EQ(gone.error().cause(), Cause::kUnreachable) << gone.error().render();
    }
    ASSERT_TRUE(f.server->start_again());
    EXPECT_EQ(number_of(f.database, "SELECT count(*) FROM fact"), 1);
    EXPECT_TRUE(f.database.execute(soon(), "INSERT INTO fact VALUES (3)"));
}

TEST(database, transaction_runs_again_where_its_connection_was_ended) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    OwnServer f;
    ASSERT_TRUE(f.database.execute(soon(), "CREATE TABLE fact (x {int64}) {strict}"));
    int runs = 0;
    auto done = f.database.write(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(transaction.execute("INSERT INTO fact VALUES (1)"));
        if (++runs == 1) {
            EXPECT_TRUE(
                f.server->execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                                  " WHERE application_name = 'belay'"));
        }
        BELAY_CHECK(transaction.execute("INSERT INTO fact VALUES (2)"));
        return {};
    });
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(number_of(f.database, "SELECT count(*) FROM fact"), 2);
    // One that is idle when it is ended is not lent again.
    ASSERT_TRUE(
        f.server->execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                          " WHERE application_name = 'belay'"));
    EXPECT_EQ(number_of(f.database, "SELECT 1"), 1);
}

TEST(database, server_that_stands_still_is_not_waited_for) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    OwnServer f;
    Database other = Database::open(f.place, {}, soon()).value();
    ASSERT_TRUE(f.server->signal(SIGSTOP));
    // Nobody takes new connections.
    auto unreachable = Database::open(f.place, {}, Deadline::after(500ms));
    ASSERT_FALSE(unreachable);
    EXPECT_EQ(unreachable.error().cause(), Cause::kUnreachable) << unreachable.error().render();
    EXPECT_EQ(number_of(other, "SELECT 1"), 1) << "connections that are there go on";
    ASSERT_TRUE(f.server->signal(SIGCONT));
    EXPECT_TRUE(Database::open(f.place, {}, soon()));
}

TEST(database, what_is_wrong_with_a_place_has_a_cause) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    auto& server = *testing::PrivatePostgres::shared();
    auto cause_at = [](const std::string& place) {
        auto opened = Database::open(place, {}, soon());
        EXPECT_FALSE(opened) << place;
        return opened ? Cause::kOther : opened.error().cause();
    };
    EXPECT_EQ(cause_at(server.place("nothing")), Cause::kNotFound);
    EXPECT_EQ(cause_at(server.place() + " user=nobody_here"), Cause::kDenied);
    EXPECT_EQ(cause_at("host=/nonexistent dbname=a"), Cause::kUnreachable);
    EXPECT_EQ(cause_at("host=127.0.0.1 port=1 dbname=a"), Cause::kUnreachable);
    auto latin = server.create_database("ENCODING 'LATIN1' TEMPLATE template0").value();
    auto refused = Database::open(latin, {}, soon());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("texts of this database are LATIN1"));
}

TEST(database, codes_of_the_server_have_causes) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    auto place = testing::PrivatePostgres::shared()->create_database().value();
    Database database = Database::open(place, {}, soon()).value();
    EXPECT_EQ(raise_error(database, "53100").error().cause(), Cause::kNoSpace);
    EXPECT_EQ(raise_error(database, "57014").error().cause(), Cause::kTimedOut);
    EXPECT_EQ(raise_error(database, "42501").error().cause(), Cause::kDenied);
    EXPECT_EQ(raise_error(database, "22003").error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(raise_error(database, "53200").error().errno_value(), ENOMEM);
    auto conflict = raise_error(database, "40001");
    EXPECT_EQ(conflict.error().cause(), kConflict);
    EXPECT_THAT(conflict.error().message(), HasSubstr(fmt::format("(tried {} times)", kMostAttempts)));
    EXPECT_EQ(raise_error(database, "40P01").error().cause(), kConflict);
    auto numeric = database.query(soon(), "SELECT 1.5 AS price");
    ASSERT_FALSE(numeric);
    EXPECT_THAT(numeric.error().message(), HasSubstr("column price"));
    EXPECT_EQ(back_up(database, "/nonexistent", soon()).error().kind(), core::ErrorKind::kBadInput);
}

TEST(database, deadlock_ends_and_both_get_through) {
    if (!is_installed()) GTEST_SKIP() << kNotInstalled;
    auto place = testing::PrivatePostgres::shared()->create_database().value();
    Database database = Database::open(place, {}, soon()).value();
    ASSERT_TRUE(database.execute(soon(), "CREATE TABLE fact (name {text} PRIMARY KEY, x {int64}) {strict}"));
    ASSERT_TRUE(database.execute(soon(), "INSERT INTO fact VALUES ('a', 0), ('b', 0)"));
    std::atomic<int> have_first = 0;
    auto add_to = [&](const char* first, const char* second) {
        return [&have_first, first, second, copy = database]() mutable {
            auto done = copy.write(soon(), [&](Transaction& transaction) -> Result<> {
                BELAY_CHECK(transaction.execute("UPDATE fact SET x = x + 1 WHERE name = ?", {first}));
                for (++have_first; have_first < 2;) std::this_thread::sleep_for(1ms);
                BELAY_CHECK(transaction.execute("UPDATE fact SET x = x + 1 WHERE name = ?", {second}));
                return {};
            });
            EXPECT_TRUE(done) << done.error().render();
        };
    };
    std::thread one(add_to("a", "b")), two(add_to("b", "a"));
    one.join();
    two.join();
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM fact WHERE x = 2"), 2);
}

}  // namespace
}  // namespace belay::database
