#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"
#include "record/place.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"
#include "stream/segment.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;
using cli::testing::Outcome;
using nlohmann::json;
using ::testing::HasSubstr;

Outcome findings(std::vector<std::string> words) {
    words.insert(words.begin(), "findings");
    return belay(std::move(words));
}

// A record of a minute on one node, whose task ended as said.
class Record {
  public:
    explicit Record(const char* severity) {
        core::Time start = core::time_from_nanoseconds(1'780'000'000'000'000'000);
        EXPECT_TRUE(record::begin_record(path(), {.created = start}));
        auto writer = stream::SegmentWriter::create(
            record::segments_path(path()) / "n1.seg",
            {.node = "n1", .start = start, .interval = std::chrono::seconds(1)});
        stream::Batch host(schema::kHost);
        for (int second = 0; second < 60; ++second) {
            host.add_row(start + std::chrono::seconds(second), "n1");
            host.set(schema::column(schema::kHost, "cpu_count"), 4);
            host.set(schema::column(schema::kHost, "cpu_user_seconds_total"), 2.0 * second);
            host.set(schema::column(schema::kHost, "cpu_system_seconds_total"), 0.0);
        }
        stream::Batch event(schema::kEvent);
        event.add_row(start + std::chrono::seconds(60), "n1");
        event.set(schema::column(schema::kEvent, "kind"), "task_end");
        event.set(schema::column(schema::kEvent, "severity"), severity);
        event.set(schema::column(schema::kEvent, "message"), "train ended");
        EXPECT_TRUE(writer->append(host));
        EXPECT_TRUE(writer->append(event));
        EXPECT_TRUE(writer->finish(start + std::chrono::seconds(60)));
    }
    std::string path() const { return directory_.path() / "r"; }
    std::string file(const char* name, std::string_view text) const {
        EXPECT_TRUE(core::replace_file(directory_.path() / name, text));
        return directory_.path() / name;
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST(cli, findings_of_a_sound_record_are_none) {
    Record record("info");
    Outcome text = findings({record.path()});
    EXPECT_EQ(text.status, 0) << text.out;
    EXPECT_THAT(text.out, HasSubstr("Nothing was found."));
    json facts = core::parse_json(findings({record.path(), "--json"}).out);
    EXPECT_TRUE(facts["findings"].empty());
    EXPECT_FALSE(facts["evaluated"].empty());
    for (const json& skipped : facts["skipped"]) EXPECT_FALSE(skipped["why"].get<std::string>().empty());
}

TEST(cli, findings_that_matter_are_status_1) {
    Record record("critical");
    Outcome text = findings({record.path()});
    EXPECT_EQ(text.status, 1);
    EXPECT_THAT(text.out, HasSubstr("warning: A task ended with an error (task_failed)\n    train ended"));
    json facts = core::parse_json(findings({record.path(), "--json"}).out);
    EXPECT_EQ(facts["findings"][0]["id"], "task_failed");
    EXPECT_EQ(facts["findings"][0]["nodes"], json::array({"n1"}));
}

TEST(cli, findings_tell_that_parts_of_the_record_are_lost) {
    Record record("info");
    const std::string segment = record::segments_path(record.path()) / "n1.seg";
    std::string bytes = core::read_file(segment).value();
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(core::replace_file(segment, bytes));
    const Record whole("info");
    ::testing::internal::CaptureStderr();
    findings({whole.path()});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    ::testing::internal::CaptureStderr();
    findings({record.path()});
    EXPECT_EQ(
        ::testing::internal::GetCapturedStderr(),
        fmt::format("belay: parts of {} are lost, so findings may be missing; belay record info says which\n",
                    record.path()));
}

TEST(cli, a_wrong_rule_is_status_2_and_the_others_are_asked) {
    Record record("critical");
    std::string rules =
        record.file("site.toml", "[[rule]]\nid='a'\ntitle='t'\nadvice='a'\nsql='SELECT x FROM host'\n");
    Outcome outcome = findings({record.path(), "--rules", rules, "--json"});
    EXPECT_EQ(outcome.status, 2);
    json facts = core::parse_json(outcome.out);
    EXPECT_EQ(facts["findings"][0]["id"], "task_failed");
    EXPECT_EQ(facts["problems"].size(), 1u);
    EXPECT_EQ(findings({record.path(), "--rules", rules + ".none"}).status, 2);
}

TEST(cli, findings_list_shows_guards_and_sources) {
    json rules = core::parse_json(findings({"list", "--json"}).out);
    ASSERT_GE(rules.size(), 18u);
    for (const json& rule : rules)
        for (const char* key : {"id", "title", "severity", "applies_when", "source"})
            EXPECT_FALSE(rule[key].get<std::string>().empty()) << rule["id"] << " " << key;
}

TEST(cli, findings_test_tries_a_sites_rules) {
    Record record("info");
    std::string rules =
        record.file("site.toml",
                    "[[rule]]\nid='busy'\ntitle='t'\nadvice='a'\n"
                    "sql='SELECT node FROM host GROUP BY node HAVING max(cpu_user_seconds_total) > 500'\n");
    EXPECT_EQ(findings({"test", rules}).status, 2) << "no cases";
    std::string cases =
        "[[case]]\nrule='busy'\nname='much'\nfires=true\nseconds=100\n[[case.fill]]\ntable='host'\n"
        "rates={cpu_user_seconds_total=9}\n";
    record.file("site.cases.toml", cases);
    EXPECT_EQ(findings({"test", rules}).status, 0);
    record.file("site.cases.toml", cases +
                                       "[[case]]\nrule='busy'\nname='little'\nfires=true\n[[case.fill]]\n"
                                       "table='host'\nset={cpu_user_seconds_total=1}\n");
    Outcome outcome = findings({"test", rules, "--json"});
    EXPECT_EQ(outcome.status, 1);
    json tested = core::parse_json(outcome.out);
    EXPECT_EQ(tested[1]["case"], "little");
    EXPECT_EQ(tested[1]["ok"], false);
    EXPECT_EQ(tested[1]["why"], "it does not fire");
}

TEST(cli, a_report_takes_the_place_of_no_part_of_its_record) {
    Record record("info");
    const std::string manifest = core::read_file(record.path() + "/record.json").value();
    for (const char* part : {"/record.json", "/tables/host.parquet", "/segments/n1.seg", "/../r/record.json"})
        EXPECT_EQ(belay({"report", record.path(), "-o", record.path() + part}).status, 2) << part;
    EXPECT_EQ(core::read_file(record.path() + "/record.json").value(), manifest);
    const std::string page = record.path() + "/../page";
    EXPECT_EQ(belay({"report", record.path(), "-o", page, "--pdf", record.path() + "/../r/../page"}).status,
              2);
    EXPECT_EQ(belay({"report", record.path(), "-o", page}).status, 0);
    EXPECT_EQ(belay({"report", record.path(), "-o", record.path() + "/report.html"}).status, 0);
    EXPECT_EQ(belay({"report", record.path(), "-o", page + "/below_a_file"}).status, 2);
}

}  // namespace
}  // namespace belay::cli
