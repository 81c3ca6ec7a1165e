#include "database/sql.h"

#include "database/place.h"
#include "database/postgres_error.h"
#include "database/postgres_hosts.h"

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::database {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string for_postgres(std::string_view sql) {
    auto native = to_native(sql, Engine::kPostgres);
    return native ? native->sql : native.error().message();
}
std::string for_sqlite(std::string_view sql) {
    auto native = to_native(sql, Engine::kSqlite);
    return native ? native->sql : native.error().message();
}

TEST(database, parameters_are_numbered_outside_of_quotes_and_comments) {
    EXPECT_EQ(for_postgres("SELECT a FROM b WHERE c = ? AND d IN (?,?)"),
              "SELECT a FROM b WHERE c = $1 AND d IN ($2,$3)");
    EXPECT_EQ(for_postgres("SELECT '?', '?''?', \"?\"\"?\", ? -- ?\n, ? /* ? */;  -- ?"),
              "SELECT '?', '?''?', \"?\"\"?\", $1 -- ?\n, $2 /* ? */  -- ?");
    EXPECT_EQ(for_sqlite("SELECT '?', ? -- ?"), "SELECT '?', ? -- ?");
    EXPECT_EQ(to_native("SELECT '?', ?, ? /* ? */", Engine::kSqlite)->parameters, 2U);
    EXPECT_EQ(for_postgres("SELECT \"naïve\" FROM größe"), "SELECT \"naïve\" FROM größe");
}

TEST(database, words_in_braces_are_the_engines_own) {
    constexpr std::string_view kSql = "CREATE TABLE a (b {id}, c {bytes}, d {double}) {strict}";
    EXPECT_EQ(for_sqlite(kSql),
              "CREATE TABLE a (b INTEGER PRIMARY KEY AUTOINCREMENT, c BLOB, d REAL) STRICT");
    EXPECT_EQ(
        for_postgres(kSql),
        "CREATE TABLE a (b BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, c BYTEA, d DOUBLE PRECISION) ");
    EXPECT_EQ(for_postgres("SELECT '{id}' -- {none}"), "SELECT '{id}' -- {none}");
    EXPECT_THAT(for_sqlite("SELECT {none}"), HasSubstr("unknown word {none}"));
}

TEST(database, what_only_one_engine_understands_is_refused) {
    for (std::string_view sql : {
             "SELECT $1",
             "SELECT :a",
             "SELECT @a",
             "SELECT a::TEXT",
             "SELECT [a]",
             "SELECT `a`",
             "SELECT ?1",
             "SELECT ??",
             "SELECT E'\\n'",
             "SELECT x'00'",
             "SELECT U&'a'",
             "SELECT $$a$$",
             "SELECT 'a",
             "SELECT \"a",
             "SELECT /* a",
             "SELECT /*/* */",
             "SELECT {id",
             "SELECT }",
             "SELECT 1; SELECT",
             "begin",
             "END",
             "PRAGMA a",
             "Set a = 1",
             "",
             " -- nothing",
             ";",
             "; SELECT 1",
             "SELECT \x01",
             "SELECT \\",
             "SELECT #",
         }) {
        for (Engine engine : {Engine::kSqlite, Engine::kPostgres}) {
            auto refused = to_native(sql, engine);
            ASSERT_FALSE(refused) << sql << " is " << refused->sql;
            EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
            EXPECT_THAT(refused.error().message(), HasSubstr("SQL"));
        }
    }
    EXPECT_FALSE(to_native(std::string_view("SELECT 1\0", 9), Engine::kSqlite));
    EXPECT_THAT(for_sqlite("SELECT\n1,\n$2"), HasSubstr("SQL, line 3: "));
}

TEST(database, script_is_taken_apart_at_its_semicolons) {
    EXPECT_THAT(split_statements("A ';' -- ;\n; B \";\" /* ; */;; -- end\n ;").value(),
                ElementsAre("A ';' -- ;\n", " B \";\" /* ; */"));
    EXPECT_THAT(split_statements("A").value(), ElementsAre("A"));
    EXPECT_THAT(split_statements(" ").value(), ElementsAre());
    EXPECT_FALSE(split_statements("A; 'B"));
}

TEST(database, place_says_which_engine_and_hides_the_password) {
    EXPECT_EQ(parse_place("sqlite:state.db")->file, "state.db");
    auto url = parse_place("postgresql://ada:secret@db.example:5433/belay?sslmode=require");
    ASSERT_TRUE(url) << url.error().render();
    EXPECT_EQ(url->engine, Engine::kPostgres);
    EXPECT_EQ(url->settings.at("password"), "secret");
    EXPECT_EQ(url->name, "PostgreSQL host=db.example port=5433 dbname=belay user=ada");
    EXPECT_EQ(parse_place("host=/run/postgresql dbname=belay")->settings.at("host"), "/run/postgresql");
    for (const char* wrong : {"", "state.db", "sqlite:", "sqlite::memory:", "mysql://x", "host=a nonsense=b",
                              "host='a", "postgresql://[::1"}) {
        auto refused = parse_place(wrong);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_THAT(refused.error().hint_text(), HasSubstr("sqlite:FILE"));
    }
}

TEST(database, refusal_has_its_code_and_one_line) {
    auto refusal = refusal_of(
        "connection to server at \"::1\", port 5432 failed: Connection refused\n"
        "\tIs the server running on that host and accepting TCP/IP connections?\n"
        "connection to server on socket \"/run/.s\" failed: FATAL:  3D000: database \"x\" does not exist\n"
        "LOCATION:  InitPostgres, postinit.c:886\n");
    EXPECT_EQ(refusal.sqlstate, "3D000");
    EXPECT_THAT(refusal.why, HasSubstr("Connection refused; Is the server"));
    EXPECT_THAT(refusal.why, HasSubstr("FATAL:  database \"x\" does not exist"));
    EXPECT_THAT(refusal.why, Not(HasSubstr("LOCATION")));
    EXPECT_EQ(refusal_of("no such file: a:  b").sqlstate, "");
    EXPECT_EQ(refusal_of("").why, "");
    EXPECT_EQ(refusal_of(":  ").sqlstate, "");
    EXPECT_EQ(refusal_of("a:  12345").sqlstate, "");
}

TEST(database, names_of_hosts_become_all_their_addresses) {
    auto addresses = [](const std::string& name) -> core::Result<std::vector<std::string>> {
        if (name == "two") return std::vector<std::string>{"::1", "127.0.0.1"};
        return core::system_error("{} is not known", name);
    };
    auto found = with_addresses({{"host", "two,10.0.0.1,/run"}, {"port", "1,2,3"}}, addresses).value();
    EXPECT_THAT(found, ElementsAre(Pair("host", "two,two,10.0.0.1,/run"),
                                   Pair("hostaddr", "::1,127.0.0.1,10.0.0.1,"), Pair("port", "1,1,2,3")));
    found = with_addresses({{"host", "two"}}, addresses).value();
    EXPECT_THAT(found, ElementsAre(Pair("host", "two,two"), Pair("hostaddr", "::1,127.0.0.1")));
    EXPECT_THAT(with_addresses({{"host", "/run"}}, addresses).value(), ElementsAre(Pair("host", "/run")));
    EXPECT_FALSE(with_addresses({{"host", "none"}}, addresses));
    EXPECT_FALSE(with_addresses({{"host", "two,two"}, {"port", "1,2,3"}}, addresses));
}

TEST(database, name_service_that_does_not_answer_is_not_waited_for) {
    std::promise<void> release;
    HostLookup lookup([waits = std::shared_future<void>(release.get_future())](
                          const std::string& name) -> core::Result<std::vector<std::string>> {
        if (name == "slow") waits.wait();
        return std::vector<std::string>{"10.0.0.1"};
    });
    EXPECT_THAT(lookup.addresses("quick", core::Deadline::never()).value(), ElementsAre("10.0.0.1"));
    for (int i = 0; i < 2; ++i) {
        auto none = lookup.addresses("slow", core::Deadline::after(std::chrono::milliseconds(20)));
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().cause(), core::Cause::kUnreachable);
    }
    release.set_value();
    EXPECT_TRUE(lookup.addresses("slow", core::Deadline::never()));
    EXPECT_THAT(addresses_of_host("127.0.0.1").value(), ElementsAre("127.0.0.1"));
}

}  // namespace
}  // namespace belay::database
