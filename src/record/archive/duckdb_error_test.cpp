#include "record/archive/duckdb_error.h"

#include "record/archive/testing.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using ::testing::HasSubstr;

constexpr QueryLimits kLimits{.time = std::chrono::seconds(5), .memory = core::ByteSize{64 << 20}};

core::Error error_of(const char* words, Statement statement, duckdb_error_type type = DUCKDB_ERROR_INVALID) {
    return duckdb_error(type, words, statement, kLimits, {{7, "/r/tables/host.parquet"}});
}

TEST(record, the_type_that_duckdb_tells_decides_kind_and_cause) {
    struct Row {
        const char* words;
        core::ErrorKind of_query, of_scan, of_own;
        core::Cause cause;
    };
    using enum core::ErrorKind;
    const Row rows[] = {
        {R"({"exception_type":"Binder","exception_message":"no x"})", kBadInput, kBadInput, kSystem,
         core::Cause::kOther},
        {R"(Parser Error: {"exception_type":"Parser","exception_message":"no x"})", kBadInput, kBadInput,
         kSystem, core::Cause::kOther},
        {R"({"exception_type":"IO","exception_message":"no x","errno":"5"})", kSystem, kSystem, kSystem,
         core::Cause::kOther},
        {R"({"exception_type":"IO","exception_message":"no x","errno":"28"})", kSystem, kSystem, kSystem,
         core::Cause::kNoSpace},
        {R"({"exception_type":"IO","exception_message":"too few bytes"})", kBadInput, kBadInput, kSystem,
         core::Cause::kOther},
        {R"({"exception_type":"Permission","exception_message":"no x"})", kBadInput, kBadInput, kSystem,
         core::Cause::kDenied},
        {R"({"exception_type":"Out of Memory","exception_message":"no x"})", kBadInput, kSystem, kSystem,
         core::Cause::kOther},
        {R"({"exception_type":"INTERNAL","exception_message":"no x"})", kSystem, kSystem, kSystem,
         core::Cause::kOther},
        {"words only", kBadInput, kBadInput, kSystem, core::Cause::kOther},
        {nullptr, kBadInput, kBadInput, kSystem, core::Cause::kOther},
    };
    for (const Row& row : rows) {
        const char* name = row.words != nullptr ? row.words : "nothing";
        EXPECT_EQ(error_of(row.words, Statement::kQuery).kind(), row.of_query) << name;
        EXPECT_EQ(error_of(row.words, Statement::kScan).kind(), row.of_scan) << name;
        EXPECT_EQ(error_of(row.words, Statement::kOwnQuery).kind(), row.of_scan) << name;
        EXPECT_EQ(error_of(row.words, Statement::kOwn).kind(), row.of_own) << name;
        for (Statement statement :
             {Statement::kQuery, Statement::kOwnQuery, Statement::kScan, Statement::kOwn})
            EXPECT_EQ(error_of(row.words, statement).cause(), row.cause) << name;
    }
}

TEST(record, too_little_memory_is_no_full_disk_and_says_what_to_do) {
    const char* words = R"({"exception_type":"Out of Memory","exception_message":"no x"})";
    for (Statement statement : {Statement::kQuery, Statement::kOwnQuery, Statement::kScan, Statement::kOwn}) {
        const core::Error error = error_of(words, statement);
        EXPECT_EQ(error.errno_value(), ENOMEM);
        EXPECT_EQ(error.cause(), core::Cause::kOther);
    }
    for (Statement statement : {Statement::kQuery, Statement::kOwnQuery, Statement::kOwn})
        EXPECT_THAT(duckdb_error(DUCKDB_ERROR_INVALID, words, statement, {}, {}).hint_text(),
                    HasSubstr("where there is more memory"));
}

TEST(record, an_interrupt_is_a_limit_of_queries_and_else_somebodys_wish) {
    const char* words = R"({"exception_type":"INTERRUPT","exception_message":"Interrupted!"})";
    EXPECT_EQ(error_of(words, Statement::kQuery).cause(), core::Cause::kTimedOut);
    EXPECT_EQ(error_of(words, Statement::kScan).cause(), core::Cause::kCancelled);
    EXPECT_EQ(error_of("plain words", Statement::kOwn, DUCKDB_ERROR_INTERRUPT).cause(),
              core::Cause::kCancelled);
}

TEST(record, messages_of_duckdb_are_one_line_with_the_paths_of_lent_files) {
    core::Error error = error_of(
        R"({"exception_type":"IO","exception_message":"Could not read \"/proc/self/fd/7\":\nI/O","errno":"5"})",
        Statement::kQuery);
    EXPECT_EQ(error.message(), "IO Error: Could not read \"/r/tables/host.parquet\": I/O");
    EXPECT_EQ(error.errno_value(), EIO);
    EXPECT_EQ(error_of("Binder Error: no x\n\nLINE 1: SELECT x\n     ^", Statement::kQuery).message(),
              "Binder Error: no x");
}

TEST(record, a_full_disk_is_told_as_one_by_its_cause) {
    auto database = Database::open().value();
    auto written = database.execute("COPY (SELECT 1) TO '/dev/full' (FORMAT csv, USE_TMP_FILE false)");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(written.error().cause(), core::Cause::kNoSpace);
    EXPECT_EQ(written.error().errno_value(), ENOSPC);
    EXPECT_THAT(written.error().message(), HasSubstr("DuckDB: IO Error: Could not write"));
}

TEST(record, sql_that_reaches_out_of_the_record_is_denied) {
    RecordFixture fixture;
    auto archive = Archive::open(fixture.path()).value();
    auto answer = archive.query_of_person("SELECT * FROM read_text('/etc/passwd')");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(answer.error().cause(), core::Cause::kDenied);
}

}  // namespace
}  // namespace belay::record
