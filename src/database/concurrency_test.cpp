// Several at once: threads, processes, and processes that are killed.
#include "database/cause.h"
#include "database/testing/fixture.h"

#include <atomic>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

using namespace std::chrono_literals;
using core::Cause;
using core::Deadline;
using core::Result;

constexpr std::string_view kCounter =
    "CREATE TABLE counter (name {text} PRIMARY KEY, value {int64} NOT NULL) {strict}";
constexpr std::string_view kFirst = "INSERT INTO counter VALUES ('a', 0)";

// As programs do it that read, think and write: without serialization, additions would be lost.
Result<> add_one(Transaction& transaction) {
    BELAY_TRY(row, transaction.query_row("SELECT value FROM counter WHERE name = 'a'"));
    BELAY_CHECK(
        transaction.execute("UPDATE counter SET value = ? WHERE name = 'a'", {row->integer(0).value() + 1}));
    return {};
}

int64_t counter(Database& database) {
    return number_of(database, "SELECT value FROM counter WHERE name = 'a'");
}

// A line that one process waits for and another writes.
class Signal {
  public:
    Signal() {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        reader_ = core::Descriptor(ends[0]);
        writer_ = core::Descriptor(ends[1]);
    }
    void give() const { EXPECT_EQ(write(writer_.get(), "x", 1), 1); }
    bool came() const {
        pollfd entry{reader_.get(), POLLIN, 0};
        char byte = 0;
        return poll(&entry, 1, 300'000) == 1 && read(reader_.get(), &byte, 1) == 1;
    }
    std::vector<int> descriptors() const { return {reader_.get(), writer_.get()}; }

  private:
    core::Descriptor reader_, writer_;
};

TEST_P(OnEngine, writers_in_threads_lose_nothing) {
    make({kCounter, kFirst});
    Database database = open(3);
    constexpr int kThreads = 6, kEach = 25;
    std::vector<std::thread> threads;
    std::atomic<int> done = 0;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, copy = database]() mutable {
            // Where all of them are in each other's way, some are refused after kMostAttempts.
            for (int j = 0; j < kEach; ++j)
                while (!copy.write(soon(), add_one)) {
                }
            ++done;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, kThreads);
    EXPECT_EQ(counter(database), kThreads * kEach);
}

TEST_P(OnEngine, writers_in_processes_lose_nothing) {
    make({kCounter, kFirst});
    auto add = [this] {
        Database own = open();
        for (int i = 0; i < 40; ++i)
            for (;;) {
                auto done = own.write(soon(), add_one);
                if (done) break;
                if (done.error().cause() != kConflict) return 1;
            }
        return 0;
    };
    core::Process first = in_process(add), second = in_process(add);
    EXPECT_TRUE(first.wait().value().success());
    EXPECT_TRUE(second.wait().value().success());
    Database database = open();
    EXPECT_EQ(counter(database), 80);
}

TEST_P(OnEngine, readers_see_a_snapshot_and_wait_for_nobody) {
    make({kCounter, kFirst});
    Database database = open();
    ASSERT_TRUE(database.write(soon(), [&](Transaction& writer) -> Result<> {
        BELAY_CHECK(add_one(writer));
        EXPECT_EQ(counter(database), 0) << "not committed";
        return {};
    }));
    auto seen = database.read(soon(), [&](Transaction& reader) -> Result<> {
        BELAY_TRY(before, reader.query_row("SELECT value FROM counter"));
        EXPECT_TRUE(database.write(soon(), add_one));
        BELAY_TRY(after, reader.query_row("SELECT value FROM counter"));
        EXPECT_EQ(before->values(), after->values());
        return {};
    });
    ASSERT_TRUE(seen) << seen.error().render();
    EXPECT_EQ(counter(database), 2);
    auto refused = database.read(soon(), add_one);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), Cause::kDenied) << refused.error().render();
}

TEST_P(OnEngine, nothing_waits_past_its_deadline) {
    make({kCounter, kFirst});
    Database database = open(2), other = open();
    auto endless = database.read(Deadline::after(300ms), [](Transaction& transaction) -> Result<> {
        BELAY_CHECK(
            transaction.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)"
                                " SELECT count(*) FROM n"));
        return {};
    });
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().cause(), Cause::kTimedOut) << endless.error().render();
    ASSERT_TRUE(database.write(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_CHECK(add_one(transaction));
        auto waited = other.write(Deadline::after(300ms), add_one);
        EXPECT_FALSE(waited);
        if (!waited) {
            EXPECT_EQ(waited.error().cause(), Cause::kTimedOut) << waited.error().render();
        }
        return {};
    }));
    EXPECT_TRUE(other.write(soon(), add_one));
    EXPECT_EQ(counter(database), 2);
}

TEST_P(OnEngine, more_threads_than_connections_take_turns) {
    make({kCounter, kFirst});
    Database database = open(2);
    std::vector<std::thread> threads;
    std::atomic<int> read = 0;
    for (int i = 0; i < 12; ++i)
        threads.emplace_back([&, copy = database]() mutable {
            for (int j = 0; j < 10; ++j) read += counter(copy) == 0 ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read, 120);
    std::atomic<bool> both = false;
    auto hold = [&](Database& copy, const auto& inner) {
        return copy.read(soon(), [&](Transaction&) -> Result<> { return inner(); });
    };
    auto taken = hold(database, [&] {
        return hold(database, [&]() -> Result<> {
            both = true;
            return database.read(Deadline::after(50ms), [](Transaction&) -> Result<> { return {}; });
        });
    });
    EXPECT_TRUE(both);
    ASSERT_FALSE(taken) << "all are lent";
    EXPECT_EQ(taken.error().cause(), Cause::kTimedOut) << taken.error().render();
}

TEST_P(OnEngine, what_a_killed_process_had_not_committed_is_not_there) {
    make({kCounter, kFirst});
    const Signal written;
    core::Process killed = in_process(
        [&] {
            Database own = open();
            (void)own.write(soon(), add_one);
            (void)own.write(soon(), [&](Transaction& transaction) -> Result<> {
                BELAY_CHECK(add_one(transaction));
                written.give();
                std::this_thread::sleep_for(10min);
                return {};
            });
            return 0;
        },
        written.descriptors());
    ASSERT_TRUE(written.came());
    Database database = open();
    EXPECT_EQ(counter(database), 1);
    ASSERT_TRUE(killed.end());
    EXPECT_EQ(counter(database), 1);
    auto next = database.write(soon(), add_one);
    EXPECT_TRUE(next) << "its lock went with it: " << next.error().render();
    Database again = open();
    EXPECT_EQ(counter(again), 2);
}

}  // namespace
}  // namespace belay::database
