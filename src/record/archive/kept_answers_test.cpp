#include "record/archive/kept_answers.h"

#include "record/archive/testing.h"

#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

const core::Time kSealed = kStart + std::chrono::hours(1);

TEST(record, kept_answers_come_back_as_they_were) {
    Answers answers;
    answers["SELECT 'ü\"'"] = {.columns = {"a", "b"},
                               .rows = {{std::monostate(), true},
                                        {int64_t{-3}, 0.1},
                                        {std::string("\n'"), kStart},
                                        {int64_t{1} << 62, -1e300}}};
    answers["SELECT 1 WHERE false"] = {.columns = {"1"}, .rows = {}};
    const Answers back = answers_from_json(answers_to_json(answers, kSealed), kSealed);
    ASSERT_EQ(back.size(), 2U);
    for (const auto& [sql, answer] : answers) {
        EXPECT_EQ(back.at(sql).columns, answer.columns);
        EXPECT_EQ(back.at(sql).rows, answer.rows);
    }
}

TEST(record, answers_of_another_sealing_or_form_are_none) {
    const std::string text =
        answers_to_json({{"SELECT 1", {.columns = {"1"}, .rows = {{int64_t{1}}}}}}, kSealed);
    ASSERT_EQ(answers_from_json(text, kSealed).size(), 1U);
    EXPECT_TRUE(answers_from_json(text, kSealed + std::chrono::seconds(1)).empty());
    for (size_t length = 0; length + 2 < text.size(); ++length)
        EXPECT_TRUE(answers_from_json(text.substr(0, length), kSealed).empty()) << length;
    for (const char* rows : {"[[1,2]]", "[[[]]]", "[[{}]]", "[1]", "[[1e99999]]", "{}", "null"}) {
        std::string changed = text;
        changed.replace(changed.find("[[1]]"), 5, rows);
        auto read = answers_from_json(changed, kSealed);
        EXPECT_TRUE(read.empty() || read.begin()->second.rows.empty()) << rows;
    }
}

TEST(record, what_json_does_not_have_or_is_large_is_not_kept) {
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(is_worth_keeping({.columns = {"a"}, .rows = {{1.0}, {std::monostate()}}}));
    EXPECT_FALSE(is_worth_keeping({.columns = {"a"}, .rows = {{1.0}, {infinite}}}));
    QueryResult large{.columns = {"a"}, .rows = {}};
    large.rows.resize(200'000, {int64_t{1}});
    EXPECT_FALSE(is_worth_keeping(large));
}

TEST(record, names_of_tables_are_words) {
    EXPECT_TRUE(names_table("SELECT min(time) FROM gpu", "gpu"));
    EXPECT_TRUE(names_table("gpu_series, \"gpu\"", "gpu"));
    EXPECT_FALSE(names_table("SELECT gpu_series.time FROM gpu_series", "gpu"));
    EXPECT_FALSE(names_table("", "gpu"));
}

constexpr const char* kQuestion =
    "SELECT node, count(*) AS n, max(time) FROM host GROUP BY node ORDER BY node";

void keep(const std::filesystem::path& path) {
    auto archive = Archive::open(path).value();
    ASSERT_TRUE(archive.query_kept(kQuestion));
    auto claim = claim_record(path);
    ASSERT_TRUE(claim);
    ASSERT_TRUE(keep_answers(*claim, archive));
}

TEST(record, a_sealed_record_keeps_answers_that_equal_those_of_its_samples) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    record.record("n2", 7, true, 7);
    ASSERT_TRUE(seal(record.path(), kSealed));
    auto before = Archive::open(record.path()).value();
    const auto asked = before.query(kQuestion).value();
    keep(record.path());
    ASSERT_TRUE(std::filesystem::exists(tables_path(record.path()) / kAnswersName));
    auto archive = Archive::open(record.path()).value();
    EXPECT_EQ(archive.query_kept(kQuestion).value().rows, asked.rows);
    EXPECT_EQ(info(record.path()).tables.at("host").rows, 12);
}

TEST(record, kept_answers_are_used_and_those_that_cannot_be_read_are_asked_again) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    ASSERT_TRUE(seal(record.path(), kSealed));
    keep(record.path());
    const auto file = tables_path(record.path()) / kAnswersName;
    const std::string text = core::read_file(file).value();
    std::string changed = text;
    changed.replace(changed.find("[\"n1\",5,"), 8, "[\"n1\",6,");
    std::ofstream(file) << changed;
    auto told = Archive::open(record.path()).value();
    EXPECT_EQ(as_double(told.query_kept(kQuestion).value().rows.at(0).at(1)), 6) << "it is what was kept";
    std::ofstream(file) << "{";
    auto again = Archive::open(record.path()).value();
    EXPECT_EQ(as_double(again.query_kept(kQuestion).value().rows.at(0).at(1)), 5);
}

TEST(record, of_tables_that_cannot_be_read_no_kept_answer_tells) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    ASSERT_TRUE(seal(record.path(), kSealed));
    keep(record.path());
    std::ofstream(tables_path(record.path()) / "host.parquet") << "damaged";
    auto archive = Archive::open(record.path()).value();
    EXPECT_TRUE(archive.query_kept(kQuestion).value().rows.empty());
}

TEST(record, an_answer_that_is_made_is_kept_under_its_words) {
    const std::vector<std::string> columns = {"rows"};
    int made = 0;
    auto make = [&]() -> core::Result<QueryResult> {
        return QueryResult{.columns = columns, .rows = {{int64_t{++made}}}};
    };
    constexpr std::string_view kWords = "how many rows there are in host";
    auto ask = [&](Archive& archive, std::string_view words, const std::vector<std::string>& shape) {
        return archive.made_kept(std::string(words), shape, make).value().rows.at(0).at(0);
    };
    RecordFixture record;
    record.record("n1", 3, true, 3);
    auto before = Archive::open(record.path()).value();
    EXPECT_EQ(ask(before, kWords, columns), Value(int64_t{1}));
    EXPECT_EQ(ask(before, kWords, columns), Value(int64_t{2})) << "samples may still come";
    ASSERT_TRUE(seal(record.path(), kSealed));
    auto archive = Archive::open(record.path()).value();
    EXPECT_EQ(ask(archive, kWords, columns), Value(int64_t{3}));
    auto claim = claim_record(record.path()).value();
    ASSERT_TRUE(keep_answers(claim, archive));
    auto again = Archive::open(record.path()).value();
    EXPECT_EQ(ask(again, kWords, columns), Value(int64_t{3})) << "it is what was kept";
    EXPECT_EQ(ask(again, "how many there are", columns), Value(int64_t{4})) << "another question";
    EXPECT_EQ(ask(again, kWords, {"nodes"}), Value(int64_t{5})) << "an answer of another shape";
}

TEST(record, kept_answers_of_another_shape_are_asked_again) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    ASSERT_TRUE(seal(record.path(), kSealed));
    {
        auto archive = Archive::open(record.path()).value();
        ASSERT_TRUE(archive.info());
        auto claim = claim_record(record.path()).value();
        ASSERT_TRUE(keep_answers(claim, archive));
    }
    const auto file = tables_path(record.path()) / kAnswersName;
    auto answers = answers_from_json(core::read_file(file).value(), kSealed);
    ASSERT_FALSE(answers.empty());
    for (QueryResult wrong :
         {QueryResult{.columns = {}, .rows = {{}}}, QueryResult{.columns = {"a"}, .rows = {}},
          QueryResult{.columns = answers.begin()->second.columns, .rows = {}}}) {
        for (auto& [sql, answer] : answers) answer = wrong;
        std::ofstream(file) << answers_to_json(answers, kSealed);
        EXPECT_EQ(info(record.path()).tables.at("host").rows, 5);
    }
}

TEST(record, answers_that_another_user_wrote_are_not_believed) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    ASSERT_TRUE(seal(record.path(), kSealed));
    keep(record.path());
    const auto file = tables_path(record.path()) / kAnswersName;
    std::string text = core::read_file(file).value();
    text.replace(text.find("[\"n1\",5,"), 8, "[\"n1\",6,");
    std::ofstream(file) << text;
    if (chown(file.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root can give a file away";
    auto archive = Archive::open(record.path()).value();
    EXPECT_EQ(as_double(archive.query_kept(kQuestion).value().rows.at(0).at(1)), 5);
}

TEST(record, an_unsealed_record_is_asked) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    auto archive = Archive::open(record.path()).value();
    EXPECT_EQ(as_double(archive.query_kept(kQuestion).value().rows.at(0).at(1)), 5);
}

}  // namespace
}  // namespace belay::record
