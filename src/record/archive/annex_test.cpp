#include "record/archive/annex.h"

#include "record/archive/testing.h"
#include "record/rows_json.h"
#include "schema/tables/event.h"
#include "schema/tables/vetting.h"

#include <cerrno>
#include <fstream>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRepaired =
    R"([{"time": "2026-03-01T12:00:00Z", "node": "n1", "kind": "node_repaired", "source": "health", "severity": "info", "code": 7}])";

stream::Batch rows(std::string_view json, const schema::Table& table = schema::kEvent) {
    auto read = rows_from_json(table, json, "rows.json");
    EXPECT_TRUE(read) << read.error().message();
    return read ? std::move(*read) : stream::Batch(table);
}

core::Result<> put(const RecordFixture& record, std::string_view owner, const stream::Batch& batch) {
    auto claim = claim_record(record.path());
    if (!claim) return std::unexpected(std::move(claim.error()));
    return put_annex(*claim, owner, batch);
}

void make_sealed(RecordFixture& record) {
    record.record("n1", 5, true, 5);
    ASSERT_TRUE(seal(record.path(), kStart + std::chrono::hours(1)));
}

double count(const RecordFixture& record, const std::string& sql) {
    return as_double(query(record.path(), sql).rows.at(0).at(0));
}

TEST(record, rows_of_an_annex_stand_in_their_table) {
    RecordFixture record;
    make_sealed(record);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    const auto answer = query(record.path(), "SELECT time, node, kind, code, message FROM event");
    ASSERT_EQ(answer.rows.size(), 1U);
    EXPECT_EQ(as_text(answer.rows[0][2]), "node_repaired");
    EXPECT_EQ(as_double(answer.rows[0][3]), 7);
    EXPECT_EQ(info(record.path()).tables.at("event").rows, 1);
    ASSERT_EQ(info(record.path()).annexes.size(), 1U);
    EXPECT_EQ(info(record.path()).annexes[0].owner, "health");
    EXPECT_EQ(count(record, "SELECT count(*) FROM host"), 5) << "what was recorded stays as it was";
}

TEST(record, an_owner_replaces_its_annex_and_nobody_elses) {
    RecordFixture record;
    make_sealed(record);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    ASSERT_TRUE(put(record, "slurm", rows(kRepaired)));
    EXPECT_EQ(count(record, "SELECT count(*) FROM event"), 2);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    EXPECT_EQ(count(record, "SELECT count(*) FROM event"), 2);
    ASSERT_TRUE(put(record, "health", rows("[]")));
    EXPECT_EQ(count(record, "SELECT count(*) FROM event"), 1);
    const auto again = put(record, "health", rows("[]"));
    ASSERT_FALSE(again) << "there is nothing to take away";
    EXPECT_EQ(again.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(again.error().message(), HasSubstr("nothing was added"));
}

TEST(record, what_is_recorded_and_what_came_later_stand_together) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    {
        auto place = core::Directory::open(record.path()).value();
        auto writer = new_segment(place, "event.seg", {.node = "n1", .start = kStart}).value();
        ASSERT_TRUE(writer.append(rows(kRepaired)));
        ASSERT_TRUE(writer.finish(kStart));
    }
    ASSERT_TRUE(seal(record.path(), kStart + std::chrono::hours(1)));
    EXPECT_EQ(count(record, "SELECT count(*) FROM event"), 1);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    EXPECT_EQ(count(record, "SELECT count(*) FROM event WHERE code = 7"), 2);
}

TEST(record, an_annex_that_cannot_be_read_is_told_and_hides_nothing_else) {
    RecordFixture record;
    make_sealed(record);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    ASSERT_TRUE(put(record, "slurm", rows(kRepaired)));
    const auto annexes = record.path() / kAnnexesName;
    std::ofstream(annexes / "slurm.event.parquet") << "damaged";
    std::filesystem::create_symlink(annexes / "health.event.parquet", annexes / "other.event.parquet");
    std::ofstream(annexes / "notes.txt") << "not an annex";
    EXPECT_EQ(count(record, "SELECT count(*) FROM event"), 1);
    const auto lost = info(record.path()).lost;
    ASSERT_EQ(lost.size(), 2U);
    EXPECT_EQ(lost[0].file, "annexes/other.event.parquet") << "links are not followed";
    EXPECT_EQ(lost[1].file, "annexes/slurm.event.parquet");
    EXPECT_TRUE(Archive::open(record.path()).value().unread_annexes().contains("event"));
    EXPECT_THAT(lost[1].reason, HasSubstr("cannot be read"));
}

// While this lives, no descriptor from this number on can be opened.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t count) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{count, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST(record, what_this_machine_lacks_is_an_error_and_no_loss_of_the_record) {
    RecordFixture record;
    make_sealed(record);
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    ASSERT_TRUE(Archive::open(record.path())) << "DuckDB is loaded";
    for (rlim_t count = STDERR_FILENO + 2;; ++count) {
        const auto archive = [&] {
            const FewDescriptors few(count);
            return Archive::open(record.path());
        }();
        if (!archive) {
            EXPECT_EQ(archive.error().kind(), core::ErrorKind::kSystem) << archive.error().message();
            EXPECT_EQ(archive.error().errno_value(), EMFILE) << archive.error().message();
            ASSERT_LT(count, 1000U);
            continue;
        }
        EXPECT_TRUE(archive->unreadable().empty()) << "with " << count << " descriptors";
        EXPECT_TRUE(archive->unread_annexes().empty()) << "with " << count << " descriptors";
        break;
    }
}

TEST(record, annexes_are_refused_where_they_would_change_what_was_recorded) {
    RecordFixture record;
    record.record("n1", 5, true, 5);
    auto refused = put(record, "health", rows(kRepaired));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("is not sealed"));
    ASSERT_TRUE(seal(record.path(), kStart + std::chrono::hours(1)));
    refused = put(record, "health", stream::Batch(schema::kHost));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("table host takes no annexes"));
    for (const char* owner :
         {"", "..", "a/b", "A", "9a", "a.b", "a b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
        refused = put(record, owner, rows(kRepaired));
        ASSERT_FALSE(refused) << owner;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    }
    EXPECT_FALSE(std::filesystem::exists(record.path() / kAnnexesName / "..event.parquet"));
}

TEST(record, kept_answers_about_a_table_with_annexes_are_asked_anew) {
    RecordFixture record;
    make_sealed(record);
    EXPECT_EQ(info(record.path()).tables.at("event").rows, 0);
    auto archive = Archive::open(record.path()).value();
    ASSERT_TRUE(archive.info());
    {
        auto claim = claim_record(record.path()).value();
        ASSERT_TRUE(keep_answers(claim, archive));
    }
    ASSERT_TRUE(put(record, "health", rows(kRepaired)));
    EXPECT_EQ(info(record.path()).tables.at("event").rows, 1);
}

TEST(record, names_of_annexes_are_owner_and_table) {
    EXPECT_EQ(annex_file("health", schema::kEvent), "health.event.parquet");
    EXPECT_EQ(parse_annex_file("health.event.parquet"), (AnnexName{"health", &schema::kEvent}));
    EXPECT_EQ(parse_annex_file("a-1_b.vetting.parquet"), (AnnexName{"a-1_b", &schema::kVetting}));
    for (const char* name : {"", ".parquet", "event.parquet", "health.host.parquet", "health.event",
                             "H.event.parquet", "a.b.event.parquet", "health.event.parquet.tmp-1"})
        EXPECT_FALSE(parse_annex_file(name)) << name;
}

TEST(record, rows_of_wrong_json_are_refused_with_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {"{", "rows.json:1"},
        {"{}", "a JSON array of objects"},
        {"[1]", "row 1: not an object"},
        {"[{}]", "row 1: \"time\" is missing"},
        {R"([{"time": "2026-03-01T12:00:00Z"}])", "\"node\" is missing"},
        {R"([{"time": null, "node": "n"}])", "\"time\" is missing"},
        {R"([{"time": "noon", "node": "n"}])", "row 1: \"time\": "},
        {R"([{"time": 5, "node": "n"}])", "\"time\" is not of type TIMESTAMP"},
        {R"([{"time": "2026-03-01T12:00:00Z", "node": "n", "colour": 1}])", "no column \"colour\""},
        {R"([{"time": "2026-03-01T12:00:00Z", "node": "n", "code": 1.5}])", "\"code\" is not of type BIGINT"},
        {R"([{"time": "2026-03-01T12:00:00Z", "node": "n", "code": 99999999999999999999}])",
         "\"code\" is not"},
        {R"([{"time": "2026-03-01T12:00:00Z", "node": "n", "value": "x"}])",
         "\"value\" is not of type DOUBLE"},
        {R"([{"time": "2026-03-01T12:00:00Z", "node": "n", "kind": 1}])", "\"kind\" is not of type VARCHAR"},
    };
    for (const auto& [json, why] : cases) {
        auto read = rows_from_json(schema::kEvent, json, "rows.json");
        ASSERT_FALSE(read) << json;
        EXPECT_EQ(read.error().kind(), core::ErrorKind::kBadInput) << json;
        EXPECT_THAT(read.error().render(), HasSubstr(why)) << json;
    }
}

}  // namespace
}  // namespace belay::record
