#include "report/preparation_query.h"

#include "report/testing/record_builder.h"

#include <gtest/gtest.h>

namespace belay::report {
namespace {

// A full file system reports its share in one unit and what is free in another.
TEST(report, vetting_keeps_units_apart) {
    record::Manifest manifest;
    manifest.job = {.cluster = "alps", .id = 4711, .nodes = {"n1", "n2", "n3"}};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = manifest.flush = std::chrono::seconds(1);
    RecordBuilder record(manifest);
    auto space = [&](const char* node, double value, const char* unit) {
        record.row(schema::kVetting, node, 0)
            .set("name", "space")
            .set("type", "fs.usage")
            .set("status", "fail")
            .set("severity", "essential")
            .set("value", value)
            .set("unit", unit)
            .set("reason", "full");
    };
    space("n1", 0.95, "ratio");
    space("n2", 0.99, "ratio");
    space("n3", 4096, "bytes");
    auto archive = record::Archive::open(record.write());
    ASSERT_TRUE(archive) << archive.error().message();
    auto group = vetting_facts(*archive);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_EQ(group->facts.size(), 2U);
    EXPECT_EQ(group->facts[0].value, "fail on n3: 4.00 KiB; full");
    EXPECT_TRUE(group->facts[0].is_deviation && group->facts[0].refuses);
    EXPECT_EQ(group->facts[1].value, "fail on n[1-2]: 95 % to 99 %; full");
}

TEST(report, staged_data_are_told_with_their_nodes) {
    record::Manifest manifest;
    manifest.job = {.cluster = "alps", .id = 4711, .nodes = {"n1", "n2"}};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = manifest.flush = std::chrono::seconds(1);
    RecordBuilder record(manifest);
    for (const char* node : {"n1", "n2"})
        record.row(schema::kEvent, node, 0)
            .set("kind", "data_staged")
            .set("source", "recorder")
            .set("severity", "info")
            .set("subject", "/scratch/train")
            .set("value", node[1] == '1' ? 2.0 : 3.5);
    auto archive = record::Archive::open(record.write());
    ASSERT_TRUE(archive) << archive.error().message();
    const auto group = staging_facts(*archive);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_EQ(group->facts.size(), 1U);
    EXPECT_EQ(group->facts[0].name, "/scratch/train");
    EXPECT_EQ(group->facts[0].value, "on n[1-2], in 3.5 s");
}

}  // namespace
}  // namespace belay::report
