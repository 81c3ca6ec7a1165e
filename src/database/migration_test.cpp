#include "database/migration.h"

#include "database/cause.h"
#include "database/lease.h"
#include "database/testing/fixture.h"

#include <array>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

using core::Cause;
using core::ErrorKind;
using ::testing::HasSubstr;

constexpr std::array kSteps = {
    Migration{1, "nodes",
              "CREATE TABLE node (id {id}, name {text} NOT NULL UNIQUE) {strict};"
              "INSERT INTO node (name) VALUES ('a;b'); -- one; not two\n"},
    Migration{2, "leases", kLeaseTable},
    Migration{3, "more nodes", "ALTER TABLE node ADD COLUMN seen {int64}; UPDATE node SET seen = 1"},
};

TEST_P(OnEngine, migrations_are_applied_once) {
    Database database = open();
    ASSERT_TRUE(migrate(database, std::span(kSteps).first(1), soon()));
    auto applied = migrate(database, kSteps, soon());
    ASSERT_TRUE(applied) << applied.error().render();
    ASSERT_TRUE(migrate(database, kSteps, soon()));
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM node WHERE seen = 1 AND name = 'a;b'"), 1);
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM belay_migration WHERE applied_at > 0"), 3);
}

TEST_P(OnEngine, migration_that_fails_leaves_nothing) {
    Database database = open();
    auto steps = kSteps;
    steps[2].sql = "CREATE TABLE half (x {int64}) {strict}; INSERT INTO node (name) VALUES ('a;b')";
    auto failed = migrate(database, steps, soon());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().cause(), kDuplicate);
    EXPECT_THAT(failed.error().message(), HasSubstr("migration 3 (more nodes): "));
    EXPECT_FALSE(database.query(soon(), "SELECT x FROM half"));
    EXPECT_EQ(number_of(database, "SELECT max(number) FROM belay_migration"), 2);
    ASSERT_TRUE(migrate(database, kSteps, soon())) << "the right one";
}

TEST_P(OnEngine, schema_of_a_newer_or_another_program_is_refused) {
    Database database = open();
    ASSERT_TRUE(migrate(database, kSteps, soon()));
    auto newer = migrate(database, std::span(kSteps).first(2), soon());
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().kind(), ErrorKind::kBadInput);
    EXPECT_THAT(newer.error().message(),
                HasSubstr("has 3 steps, up to \"more nodes\"; this program knows 2"));
    auto steps = kSteps;
    steps[1].name = "something else";
    auto other = migrate(database, steps, soon());
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("step 2 of the schema is \"leases\""));
    std::swap(steps[0], steps[1]);
    EXPECT_EQ(migrate(database, steps, soon()).error().kind(), ErrorKind::kBadInput);
}

TEST_P(OnEngine, migrations_of_processes_that_start_at_once) {
    auto start = [this] {
        auto own = Database::open(place(), {}, soon());
        if (!own) std::fputs(own.error().render().c_str(), stderr);
        auto done = own ? migrate(*own, kSteps, soon()) : core::Result<>();
        if (!done) std::fputs(done.error().render().c_str(), stderr);
        return own && done ? 0 : 1;
    };
    std::vector<core::Process> processes;
    for (int i = 0; i < 4; ++i) processes.push_back(in_process(start));
    for (core::Process& process : processes) EXPECT_TRUE(process.wait().value().success());
    Database database = open();
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM node"), 1);
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM belay_migration"), 3);
}

}  // namespace
}  // namespace belay::database
