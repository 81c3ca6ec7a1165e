// SQL that somebody else wrote: what it may read and use.
#include "record/archive/archive.h"
#include "record/archive/testing.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr QueryLimits kTight{.time = std::chrono::milliseconds(100), .memory = core::ByteSize{64 << 20}};
// Time that is not reached first, however slow the machine is.
constexpr QueryLimits kSmall{.time = std::chrono::hours(1), .memory = core::ByteSize{64 << 20}};
// Work for years, in little memory.
constexpr const char* kEndless =
    "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5";

class LimitedRecord : public RecordFixture {
  public:
    LimitedRecord() { record("n1", 3, true, 3); }
    core::Error error_of(const std::string& sql, const QueryLimits& limits = kTight) const {
        auto archive = Archive::open(path(), {}, limits).value();
        auto answer = archive.query_of_person(sql);
        return answer ? core::Error(core::ErrorKind::kSystem, "answered") : answer.error();
    }
};

TEST(record, a_query_that_takes_too_long_is_ended) {
    LimitedRecord record;
    auto archive = Archive::open(record.path(), {}, kTight).value();
    for (int round = 0; round < 2; ++round) {
        auto answer = archive.query_of_person(kEndless);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().cause(), core::Cause::kTimedOut);
        EXPECT_THAT(answer.error().render(), HasSubstr("the query took longer than 100ms"));
        EXPECT_THAT(answer.error().render(), HasSubstr("query.time"));
    }
}

TEST(record, a_limit_that_a_query_of_our_own_reaches_is_no_fault_of_the_person) {
    LimitedRecord record;
    auto archive = Archive::open(record.path(), {}, kTight).value();
    const core::Error slow = archive.query(kEndless).error();
    EXPECT_EQ(slow.kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(slow.cause(), core::Cause::kTimedOut);
    EXPECT_EQ(slow.hint_text(), "raise the setting query.time");
    const core::Error large =
        duckdb_error(DUCKDB_ERROR_OUT_OF_MEMORY, "too much", Statement::kOwnQuery, kTight, {});
    EXPECT_EQ(large.kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(large.errno_value(), ENOMEM);
    EXPECT_EQ(large.hint_text(), "raise the setting query.memory");
}

TEST(record, the_time_of_a_query_begins_with_it) {
    LimitedRecord record;
    auto archive = Archive::open(record.path(), {}, {.time = std::chrono::hours(1)}).value();
    EXPECT_EQ(archive.query_of_person("SELECT count(*) FROM host")->rows.size(), 1u);
    EXPECT_EQ(archive.query_of_person("SELECT count(*) FROM host")->rows.size(), 1u);
}

TEST(record, a_query_that_takes_too_much_memory_is_ended) {
    LimitedRecord record;
    for (const char* sql : {"SELECT list(range) FROM range(100000000)", "SELECT range FROM range(100000000)",
                            "SELECT repeat('x', 1000000) FROM range(5000)"}) {
        const core::Error error = record.error_of(sql, kSmall);
        EXPECT_EQ(error.errno_value(), ENOMEM) << sql << ": " << error.render();
    }
}

// DuckDB counts no text that a function makes, and looks for an interrupt between functions only.
TEST(record, a_single_call_that_takes_too_much_memory_is_ended) {
    LimitedRecord record;
    for (const char* sql : {"SELECT max(length(repeat('x', 3000000000))) FROM range(2)",
                            "SELECT string_agg(repeat('x', 100000000), ',') FROM range(20)"}) {
        const core::Error error = record.error_of(sql, kSmall);
        EXPECT_EQ(error.errno_value(), ENOMEM) << sql << ": " << error.render();
    }
}

TEST(recordDeathTest, a_single_call_that_takes_too_long_ends_the_process) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            LimitedRecord record;
            (void)record.error_of("SELECT levenshtein(repeat('ab', 200000), repeat('cd', 200000))");
        },
        testing::ExitedWithCode(2), "the query took longer than 100ms");
}

TEST(record, the_memory_limit_is_told_with_its_setting) {
    LimitedRecord record;
    auto archive = Archive::open(record.path(), {}, {.memory = core::ByteSize{32 << 20}}).value();
    auto answer = archive.query_of_person("SELECT list(range) FROM range(100000000)");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().errno_value(), ENOMEM) << answer.error().render();
    EXPECT_THAT(answer.error().render(), HasSubstr("more than 32MiB of memory"));
    EXPECT_THAT(answer.error().render(), HasSubstr("query.memory"));
}

TEST(record, a_directory_where_the_caller_stands_is_not_read) {
    LimitedRecord record;
    const fs::path here = fs::current_path();
    const fs::path secrets = record.path().parent_path() / "secrets";
    fs::create_directory(secrets);
    std::ofstream(secrets / "key") << "secret";
    const fs::path caller = record.path().parent_path() / "caller";
    fs::create_directory(caller);
    fs::create_symlink(secrets, caller / ".tmp");  // where DuckDB puts its temporary files
    fs::current_path(caller);
    auto archive = Archive::open(record.path()).value();
    for (const char* name : {".tmp/key", "../secrets/key"}) {
        auto answer = archive.query_of_person(fmt::format("SELECT content FROM read_text('{}')", name));
        EXPECT_FALSE(answer) << name;
    }
    fs::current_path(here);
}

}  // namespace
}  // namespace belay::record
