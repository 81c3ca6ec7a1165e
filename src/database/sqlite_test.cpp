// What only SQLite has: its file.
#include "core/testing/mounts.h"
#include "database/backup.h"
#include "database/testing/fixture.h"

#include <atomic>
#include <iterator>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

namespace fs = std::filesystem;
using core::Cause;
using core::Result;
using ::testing::HasSubstr;

struct SqliteFile {
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    fs::path path = directory.path() / "state.db";
    std::string place() const { return "sqlite:" + path.string(); }
    Result<Database> open() const { return Database::open(place(), {}, soon()); }
};

constexpr std::string_view kBlobs = "CREATE TABLE blob (data {bytes}) {strict}";

TEST(database, file_of_sqlite_is_its_owners) {
    SqliteFile f;
    Database database = f.open().value();
    ASSERT_TRUE(database.execute(soon(), kBlobs));
    for (const char* suffix : {"", "-wal", "-shm"}) {
        struct stat status{};
        ASSERT_EQ(stat((f.path.string() + suffix).c_str(), &status), 0) << suffix;
        EXPECT_EQ(status.st_mode & 0777, 0600U) << suffix;
    }
}

TEST(database, what_is_no_database_is_said_so) {
    SqliteFile f;
    ASSERT_TRUE(core::replace_file(f.path, std::string(5000, 'x')));
    auto refused = f.open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput) << refused.error().render();
    EXPECT_THAT(refused.error().message(), HasSubstr("state.db"));
    EXPECT_EQ(core::read_file(f.path)->size(), 5000U);

    auto nowhere = Database::open("sqlite:" + (f.directory.path() / "none/state.db").string(), {}, soon());
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().cause(), Cause::kNotFound) << nowhere.error().render();
    auto directory = Database::open("sqlite:" + f.directory.path().string(), {}, soon());
    ASSERT_FALSE(directory);
    EXPECT_THAT(directory.error().message(), HasSubstr(f.directory.path().string()));
}

TEST(database, damaged_file_is_an_error) {
    SqliteFile f;
    {
        Database database = f.open().value();
        ASSERT_TRUE(database.execute(soon(), kBlobs));
        for (int i = 0; i < 50; ++i)
            ASSERT_TRUE(
                database.execute(soon(), "INSERT INTO blob VALUES (?)", {Bytes(std::string(3000, 'x'))}));
    }
    auto bytes = core::read_file(f.path).value();
    for (size_t i = 4096; i < bytes.size(); i += 4096) bytes.replace(i, 64, std::string(64, '\xff'));
    ASSERT_TRUE(core::replace_file(f.path, bytes));
    auto database = f.open();
    ASSERT_TRUE(database) << database.error().render();
    auto failed = database->query(soon(), "SELECT data FROM blob");
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().hint_text(), HasSubstr("backup"));
}

TEST(database, full_disk_is_a_cause_and_loses_nothing) {
    const SqliteFile f;
    core::expect_in_mounts([&](const core::Bind&) {
        ASSERT_EQ(mount("tmpfs", f.directory.path().c_str(), "tmpfs", 0, "size=1m"), 0);
        Database database = f.open().value();
        ASSERT_TRUE(database.execute(soon(), kBlobs));
        ASSERT_TRUE(database.execute(soon(), "INSERT INTO blob VALUES (?)", {Bytes("first")}));
        auto failed =
            database.execute(soon(), "INSERT INTO blob VALUES (?)", {Bytes(std::string(2 << 20, 'x'))});
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().cause(), Cause::kNoSpace) << failed.error().render();
        EXPECT_EQ(number_of(database, "SELECT count(*) FROM blob"), 1);
        EXPECT_TRUE(database.execute(soon(), "INSERT INTO blob VALUES (?)", {Bytes("second")}));
    });
}

TEST(database, backup_is_a_whole_database_while_others_write) {
    SqliteFile f;
    Database database = f.open().value();
    ASSERT_TRUE(
        database.execute(soon(), "CREATE TABLE pair (a {int64}, b {int64}, filler {bytes}) {strict}"));
    std::atomic<bool> stop = false;
    std::atomic<int> written = 0;
    std::thread writer([&, copy = database]() mutable {
        for (int i = 0; !stop; ++i) {
            auto done = copy.write(soon(), [&](Transaction& transaction) -> Result<> {
                BELAY_CHECK(transaction.execute("INSERT INTO pair VALUES (?, 0, ?)",
                                                {i, Bytes(std::string(5000, 'x'))}));
                BELAY_CHECK(transaction.execute("UPDATE pair SET b = a WHERE a = ?", {i}));
                return {};
            });
            written += done ? 1 : 0;
        }
    });
    while (written < 20) std::this_thread::yield();
    const fs::path target = f.directory.path() / "backup.db";
    for (int i = 0; i < 3; ++i) {
        const int64_t before = number_of(database, "SELECT count(*) FROM pair");
        auto done = back_up(database, target, soon());
        ASSERT_TRUE(done) << done.error().render();
        Database copy = Database::open("sqlite:" + target.string(), {}, soon()).value();
        EXPECT_GE(number_of(copy, "SELECT count(*) FROM pair"), before);
        EXPECT_EQ(number_of(copy, "SELECT count(*) FROM pair WHERE a <> b"), 0);
    }
    stop = true;
    writer.join();
}

TEST(database, backup_that_fails_leaves_what_was_there) {
    SqliteFile f;
    Database database = f.open().value();
    ASSERT_TRUE(database.execute(soon(), kBlobs));
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(
            database.execute(soon(), "INSERT INTO blob VALUES (?)", {Bytes(std::string(1 << 20, 'x'))}));
    const fs::path target = f.directory.path() / "backup/old.db";
    fs::create_directory(target.parent_path());
    ASSERT_TRUE(core::replace_file(target, "old"));
    auto failed = back_up(database, target, core::Deadline::after(core::Duration::zero()));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().cause(), Cause::kTimedOut) << failed.error().render();
    EXPECT_EQ(core::read_file(target).value(), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(target.parent_path()), {}), 1);
    EXPECT_EQ(back_up(database, f.path, soon()).error().kind(), core::ErrorKind::kBadInput) << "itself";
    ASSERT_TRUE(core::replace_file(target.string() + "-wal", "of one that was killed"));
    EXPECT_EQ(back_up(database, target, soon()).error().kind(), core::ErrorKind::kBadInput);
    fs::remove(target.string() + "-wal");
    EXPECT_EQ(back_up(database, f.directory.path() / "none/a.db", soon()).error().cause(), Cause::kNotFound);
    ASSERT_TRUE(back_up(database, target, soon()));
    Database copy = Database::open("sqlite:" + target.string(), {}, soon()).value();
    EXPECT_EQ(number_of(copy, "SELECT count(*) FROM blob"), 20);
}

TEST(database, text_that_others_have_stored_is_checked) {
    SqliteFile f;
    Database database = f.open().value();
    ASSERT_TRUE(database.execute(soon(), "CREATE TABLE word (word {text}) {strict}"));
    ASSERT_TRUE(database.execute(soon(), "INSERT INTO word VALUES (CAST(? AS TEXT))", {Bytes("a\xff")}));
    auto refused = database.query(soon(), "SELECT word FROM word");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("column word"));
}

}  // namespace
}  // namespace belay::database
