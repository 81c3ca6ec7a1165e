// What both engines do alike: values, constraints, transactions. Concurrency is in concurrency_test.cpp.
#include "database/cause.h"
#include "database/testing/fixture.h"

#include <cstdlib>
#include <limits>
#include <utility>

#include <gmock/gmock.h>

namespace belay::database {
namespace {

using core::Cause;
using core::ErrorKind;
using core::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kThings =
    "CREATE TABLE thing (id {id}, name {text} UNIQUE, whole {int64}, real {double}, data {bytes}) {strict}";
constexpr std::string_view kInsertThing = "INSERT INTO thing (name, whole, real, data) VALUES (?, ?, ?, ?)";

TEST_P(OnEngine, values_come_back_as_they_were) {
    Database database = open_with(kThings);
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                      kMost = std::numeric_limits<int64_t>::max();
    std::string all_bytes;
    for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
    const std::vector<Values> rows = {
        {"plain", 1, 0.1, Bytes("x")},
        {"it's \"quoted\" \\ ? $1 -- /* ; {now} %_", kLeast, std::numeric_limits<double>::max(),
         Bytes(all_bytes)},
        {"Zürich 山 \xF0\x9F\xA7\x97", kMost, std::numeric_limits<double>::denorm_min(), Bytes()},
        {"", 0, -std::numeric_limits<double>::infinity(), Bytes(std::string(3, '\0'))},
        {Null(), Null(), Null(), Null()},
    };
    for (const Values& row : rows) ASSERT_EQ(database.execute(soon(), kInsertThing, row).value(), 1);
    auto found = database.query(soon(), "SELECT name, whole, real, data FROM thing ORDER BY id").value();
    ASSERT_EQ(found.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(found[i].values(), rows[i]) << i;
    for (const Values& row : rows) {
        if (std::holds_alternative<Null>(row[0])) continue;
        EXPECT_EQ(
            number_of(database,
                      "SELECT count(*) FROM thing WHERE name = ? AND whole = ? AND real = ? AND data = ?",
                      row),
            1);
    }
}

TEST_P(OnEngine, large_blobs) {
    Database database = open_with(kThings);
    for (size_t size : {size_t{1} << 20, size_t{24} << 20}) {
        std::string blob(size, '\0');
        for (size_t i = 0; i < size; i += 4096) blob[i] = static_cast<char>(i >> 12);
        ASSERT_TRUE(database.execute(soon(), kInsertThing, {"blob", Null(), Null(), Bytes(blob)}));
        auto found = database.query(soon(), "DELETE FROM thing RETURNING data");
        ASSERT_FALSE(found) << "that is to be written";
        EXPECT_EQ(found.error().cause(), Cause::kDenied) << found.error().render();
        found = database.query(soon(), "SELECT data FROM thing");
        ASSERT_TRUE(found) << found.error().render();
        EXPECT_TRUE(found->at(0).bytes(0) == blob);
        EXPECT_EQ(database.execute(soon(), "DELETE FROM thing").value(), 1);
    }
    auto refused = database.execute(soon(), kInsertThing,
                                    {"blob", Null(), Null(), Bytes(std::string(kLongestValue + 1, 'x'))});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kBadInput);
}

TEST_P(OnEngine, hostile_values_are_refused) {
    Database database = open_with(kThings);
    auto refuse = [&](Values values) {
        auto refused = database.execute(soon(), kInsertThing, values);
        EXPECT_FALSE(refused);
        if (!refused) {
            EXPECT_EQ(refused.error().kind(), ErrorKind::kBadInput) << refused.error().render();
        }
        return refused ? "" : refused.error().message();
    };
    EXPECT_THAT(refuse({std::string("a\0b", 3), 1, 1.0, Null()}),
                HasSubstr("parameter 1: byte 2 of the text is NUL"));
    EXPECT_THAT(refuse({"a\xff", 1, 1.0, Null()}), HasSubstr("byte 2 of the text is not part of UTF-8"));
    EXPECT_THAT(refuse({"\xed\xa0\x80", 1, 1.0, Null()}), HasSubstr("byte 1"));
    EXPECT_THAT(refuse({"a", 1, std::numeric_limits<double>::quiet_NaN(), Null()}),
                HasSubstr("parameter 3: NaN"));
    EXPECT_THAT(refuse({"a", 1}), HasSubstr("4 parameters was given 2 values"));
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM thing"), 0);
}

TEST_P(OnEngine, what_is_wrong_with_the_data_has_a_cause) {
    Database database = open_with(kThings);
    ASSERT_TRUE(database.execute(soon(),
                                 "CREATE TABLE part (thing {int64} NOT NULL REFERENCES thing (id),"
                                 " size {int64} CHECK (size > 0)) {strict}"));
    ASSERT_TRUE(database.execute(soon(), kInsertThing, {"a", 1, 1.0, Null()}));
    const int64_t id = number_of(database, "SELECT id FROM thing");
    ASSERT_TRUE(database.execute(soon(), "INSERT INTO part VALUES (?, 1)", {id}));
    struct Case {
        std::string_view sql;
        Cause cause;
        ErrorKind kind = ErrorKind::kBadInput;
    };
    const Case cases[] = {
        {"INSERT INTO thing (name) VALUES ('a')", kDuplicate},
        {"INSERT INTO part VALUES (4711, 1)", kReference},
        {"DELETE FROM thing", kReference},
        {"INSERT INTO part VALUES (NULL, 1)", Cause::kOther},
        {"UPDATE part SET size = 0", Cause::kOther},
        {"SELECT nothing FROM nowhere", Cause::kOther, ErrorKind::kSystem},
        {"SELEKT 1", Cause::kOther, ErrorKind::kSystem},
        {"SELECT 1; SELECT 2", Cause::kOther},
        {"COMMIT", Cause::kOther},
        {"SELECT \"a\" FROM part", Cause::kOther, ErrorKind::kSystem},
    };
    for (const Case& each : cases) {
        auto refused = database.execute(soon(), each.sql);
        ASSERT_FALSE(refused) << each.sql;
        EXPECT_EQ(refused.error().cause(), each.cause) << refused.error().render();
        EXPECT_EQ(refused.error().kind(), each.kind) << refused.error().render();
    }
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM thing"), 1);
}

TEST_P(OnEngine, transaction_is_all_or_nothing) {
    Database database = open_with(kThings);
    auto failed = database.write(soon(), [](Transaction& transaction) -> Result<> {
        BELAY_CHECK(transaction.execute("INSERT INTO thing (name) VALUES ('a')"));
        return core::negative("changed my mind");
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), ErrorKind::kNegative);
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM thing"), 0);

    failed = database.write(soon(), [](Transaction& transaction) -> Result<> {
        BELAY_CHECK(transaction.execute("INSERT INTO thing (name) VALUES ('a')"));
        EXPECT_FALSE(transaction.execute("INSERT INTO thing (name) VALUES ('a')"));
        EXPECT_FALSE(transaction.execute("INSERT INTO thing (name) VALUES ('b')")) << "it has failed";
        return {};
    });
    ASSERT_FALSE(failed) << "a failure cannot be passed over";
    EXPECT_EQ(failed.error().cause(), kDuplicate);
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM thing"), 0);
}

TEST_P(OnEngine, portable_subset) {
    Database database = open_with(kThings);
    auto upsert = [&](const char* name, int64_t whole) {
        return database.execute(soon(),
                                "INSERT INTO thing (name, whole) VALUES (?, ?)"
                                " ON CONFLICT (name) DO UPDATE SET whole = thing.whole + excluded.whole",
                                {name, whole});
    };
    EXPECT_EQ(upsert("b", 1).value(), 1);
    EXPECT_EQ(upsert("b", 2).value(), 1);
    EXPECT_EQ(number_of(database, "SELECT whole FROM thing"), 3);
    EXPECT_EQ(
        database.execute(soon(), "INSERT INTO thing (name) VALUES ('b') ON CONFLICT DO NOTHING").value(), 0);
    EXPECT_EQ(database.execute(soon(), "CREATE INDEX by_whole ON thing (whole)").value(), 0);

    auto inserted = database.write(soon(), [](Transaction& transaction) -> Result<> {
        BELAY_TRY(row, transaction.query_row("INSERT INTO thing (name) VALUES (?), (?) RETURNING id, name",
                                             {"B", "a"}));
        EXPECT_GT(row->integer(0).value_or(0), 0);
        EXPECT_EQ(row->text(1), "B");
        BELAY_TRY(none, transaction.query_row("SELECT 1 FROM thing WHERE name = 'nobody'"));
        EXPECT_FALSE(none);
        return {};
    });
    ASSERT_TRUE(inserted) << inserted.error().render();
    auto names = database.query(soon(), "SELECT name FROM thing ORDER BY name").value();
    ASSERT_EQ(names.size(), 3U);
    EXPECT_EQ(names[0].text(0), "B") << "in the order of bytes";
    EXPECT_EQ(number_of(database, "SELECT count(*) FROM thing WHERE name LIKE 'b%'"), 1)
        << "letters are told apart";
    auto truths = database.query(soon(), "SELECT 1 < 2, 2 < 1, CAST(NULL AS {int64}) < 1").value();
    EXPECT_TRUE(truths[0].truth(0));
    EXPECT_EQ(truths[0].integer(1), 0);
    EXPECT_EQ(truths[0].at(2), Value());
    const int64_t now = number_of(database, "SELECT {now}");
    EXPECT_LT(std::abs(now - core::to_microseconds(core::system_clock().now())), 60'000'000)
        << "of one machine";
}

TEST_P(OnEngine, rows_come_one_by_one) {
    constexpr std::string_view kCount =
        "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS {int64}) UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
        " SELECT i AS number FROM n";
    Database database = open(1);
    int64_t sum = 0;
    ASSERT_TRUE(database.read(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_TRY(rows, transaction.query(kCount));
        EXPECT_THAT(rows.columns(), ElementsAre("number"));
        for (;;) {
            BELAY_TRY(row, rows.next());
            if (row == nullptr) return {};
            sum += row->integer(0).value_or(0);
        }
    }));
    EXPECT_EQ(sum, int64_t{300000} * 300001 / 2);
    EXPECT_FALSE(database.query(soon(), kCount)) << "too many to hold";
    ASSERT_TRUE(database.read(soon(), [&](Transaction& transaction) -> Result<> {
        {
            BELAY_TRY(given_up, transaction.query(kCount));
            BELAY_CHECK(given_up.next());
        }
        BELAY_TRY(row, transaction.query_row("SELECT 7"));
        EXPECT_EQ(row->integer(0), 7);
        return {};
    }));
    auto refused = database.read(soon(), [&](Transaction& transaction) -> Result<> {
        BELAY_TRY(rows, transaction.query(kCount));
        BELAY_CHECK(transaction.execute("SELECT 1"));
        return {};
    });
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("were not read to the end"));
    EXPECT_EQ(number_of(database, "SELECT 8"), 8) << "the connection is whole";
}

TEST_P(OnEngine, many_statements_are_kept_and_dropped) {
    Database database = open_with(kThings);
    for (int i = 0; i < 600; ++i) ASSERT_EQ(number_of(database, fmt::format("SELECT {}", i)), i);
    for (int i = 0; i < 5; ++i) {
        // The same statement for values of other types.
        EXPECT_TRUE(database.execute(soon(), "UPDATE thing SET whole = ?", {i}));
        EXPECT_TRUE(database.execute(soon(), "UPDATE thing SET whole = ?", {Null()}));
    }
}

TEST_P(OnEngine, kept_statements_outlive_a_change_of_the_schema) {
    Database database = open_with(kThings), other = open();
    ASSERT_TRUE(database.execute(soon(), "INSERT INTO thing (name) VALUES ('a')"));
    EXPECT_EQ(database.query(soon(), "SELECT * FROM thing").value()[0].size(), 5U);
    ASSERT_TRUE(other.execute(soon(), "ALTER TABLE thing ADD COLUMN more {int64}"));
    EXPECT_EQ(database.query(soon(), "SELECT * FROM thing").value()[0].size(), 6U);
}

std::string name_of_engine(const ::testing::TestParamInfo<Engine>& info) {
    return info.param == Engine::kSqlite ? "sqlite" : "postgresql";
}

INSTANTIATE_TEST_SUITE_P(database, OnEngine, ::testing::Values(Engine::kSqlite, Engine::kPostgres),
                         name_of_engine);

}  // namespace
}  // namespace belay::database
