#include "record/manifest.h"

#include "record/place.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using testing::HasSubstr;

Manifest example() {
    Manifest manifest;
    manifest.job = {.cluster = "alps",
                    .id = 42,
                    .array_task = 3,
                    .restart = 1,
                    .submit = core::time_from_nanoseconds(1'700'000'000'000'000'000),
                    .account = "a1",
                    .name = "train \"x\" \xc3\xa9",
                    .user = "ana",
                    .nodes = {"n1", "n2"},
                    .start = core::time_from_nanoseconds(1'700'000'100'000'000'000),
                    .end = std::nullopt};
    manifest.command = {"python", "train.py"};
    manifest.created = core::time_from_nanoseconds(1'700'000'101'000'001'000);
    manifest.interval = std::chrono::milliseconds(100);
    manifest.flush = std::chrono::seconds(2);
    manifest.software = {{"belay", "0.1.0"}};
    manifest.tables["host"] = {.rows = 9};
    manifest.segments = {{"n1.seg", {.bytes = 400, .whole = false}}};
    manifest.lost = {{"n1.seg", 100, 7, "truncated block"}};
    return manifest;
}

TEST(record, manifests_give_back_what_was_written) {
    Manifest manifest = example();
    auto back = manifest_from_json(to_json(manifest), "record.json");
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->job, manifest.job);
    EXPECT_EQ(back->command, manifest.command);
    EXPECT_EQ(back->created, manifest.created);
    EXPECT_EQ(back->interval, manifest.interval);
    EXPECT_EQ(back->software, manifest.software);
    EXPECT_EQ(back->tables, manifest.tables);
    EXPECT_EQ(back->segments, manifest.segments);
    EXPECT_FALSE(back->sealed);
    ASSERT_EQ(back->lost.size(), 1u);
    EXPECT_EQ(back->lost[0].reason, "truncated block");
}

TEST(record, a_wrong_manifest_says_what_and_where) {
    std::string text = to_json(example());
    auto changed = [&](const std::string& from, const std::string& to) {
        std::string copy = text;
        copy.replace(copy.find(from), from.size(), to);
        return manifest_from_json(copy, "record.json").error();
    };
    EXPECT_EQ(changed("\"schema\": 1,", "\"schema\": 1").position()->line, 3);
    EXPECT_THAT(changed("\"restart\": 1", "\"restart\": \"x\"").message(),
                HasSubstr("\"restart\" has the wrong type"));
    EXPECT_THAT(changed("\"restart\": 1", "\"restart\": 1e300").message(), HasSubstr("\"restart\""));
    EXPECT_THAT(changed("\"flush_seconds\"", "\"flash_seconds\"").message(),
                HasSubstr("\"flush_seconds\" is missing"));
    EXPECT_THAT(changed("\"schema\": 1", "\"schema\": 99").message(), HasSubstr("newer"));
    EXPECT_THAT(changed("2023-11-14T22:13:20.000000Z", "yesterday").message(), HasSubstr("not a time"));
    EXPECT_FALSE(manifest_from_json("[]", "record.json"));
    EXPECT_FALSE(manifest_from_json("", "record.json"));
    EXPECT_FALSE(manifest_from_json("1e999", "record.json"));
}

TEST(record, a_manifest_that_nests_deep_is_refused) {
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    EXPECT_THAT(manifest_from_json(deep, "record.json").error().message(), HasSubstr("nests deeper than 64"));
    std::string text = to_json(example());
    const std::string from = "\"environment\": null";
    text.replace(text.find(from), from.size(), "\"environment\": {\"a\": " + deep + "}");
    EXPECT_FALSE(manifest_from_json(text, "record.json"));
}

TEST(record, recorders_of_one_job_join_and_others_are_refused) {
    auto directory = core::TemporaryDirectory::create("manifest_test").value();
    auto record = directory.path() / "r";
    Manifest first = example();
    ASSERT_TRUE(begin_record(record, first));
    Manifest second = example();
    second.job.submit.reset();  // the second recorder could not ask Slurm
    EXPECT_TRUE(begin_record(record, second));
    Manifest alone = example();
    alone.job.id.reset();
    auto alone_record = directory.path() / "alone";
    ASSERT_TRUE(begin_record(alone_record, alone));
    EXPECT_FALSE(begin_record(alone_record, alone)) << "a second run without Slurm is another run";
    second.job.restart = 2;
    auto refused = begin_record(record, second);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message(), HasSubstr("another job (42, restart 1)"));
}

}  // namespace
TEST(record, a_step_of_another_environment_or_verdict_is_refused) {
    auto directory = core::TemporaryDirectory::create("manifest_test").value();
    auto record = directory.path() / "r";
    Manifest first = example();
    first.parts["environment"] = R"({"name":"a","image":"x"})";
    first.parts["vetting"] = R"({"verdict":"fail"})";
    ASSERT_TRUE(begin_record(record, first));
    Manifest again = first;
    again.parts["environment"] = R"({"image":"x","name":"a"})";
    EXPECT_TRUE(begin_record(record, again)) << "another node of the step";
    Manifest joins = first;
    joins.parts.clear();
    EXPECT_TRUE(begin_record(record, joins)) << "a recorder";
    Manifest vetted_again = first;
    vetted_again.parts["vetting"] = R"({"verdict":"pass"})";
    auto refused = begin_record(record, vetted_again);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message(), HasSubstr("was vetted with another protocol or another result"));
    Manifest elsewhere = first;
    elsewhere.parts["environment"] = R"({"name":"b"})";
    refused = begin_record(record, elsewhere);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("another environment"));
}

TEST(record, manifest_keeps_environment_and_vetting) {
    Manifest manifest;
    manifest.parts["environment"] = R"({"image":"debian","env":{"A":"1"}})";
    manifest.parts["vetting"] = R"({"protocol":"p","verdict":"pass"})";
    auto read = manifest_from_json(to_json(manifest), "record.json");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->parts["environment"], manifest.parts["environment"]);
    EXPECT_EQ(read->parts["vetting"], manifest.parts["vetting"]);
    manifest.parts["environment"] = "no JSON";
    read = manifest_from_json(to_json(manifest), "record.json");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->parts["environment"], "");
}

}  // namespace belay::record
