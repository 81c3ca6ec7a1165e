#include "record/archive/sampling_interval.h"

#include "record/archive/testing.h"
#include "schema/tables/gpu.h"

namespace belay::record {
namespace {

// Five samples of a host, 3 s apart, and of two GPUs, 2 s apart.
Archive samples() {
    auto archive = Archive::in_memory().value();
    EXPECT_TRUE(
        archive.define("INSERT INTO host (time, node) SELECT make_timestamp(i * 3000000), 'n1' "
                       "FROM range(5) r(i)"));
    EXPECT_TRUE(
        archive.define("INSERT INTO gpu (time, node, device) SELECT make_timestamp(i * 2000000 + d), "
                       "'n1', d::VARCHAR FROM range(5) r(i), range(2) s(d)"));
    return archive;
}

TEST(record, the_sampling_interval_is_that_which_recorders_counted) {
    Archive archive = samples();
    ASSERT_TRUE(archive.define(
        "INSERT INTO coverage (time, node, table_name, interval_seconds) VALUES "
        "('2026-01-01', 'n1', 'host', 5), ('2026-01-01', 'n2', 'host', 5), ('2026-01-01', 'n1', 'gpu', 4), "
        "('2026-01-01', 'n1', 'gpu', 0), ('2026-01-01', 'n1', 'gpu', NULL)"));
    EXPECT_EQ(sampling_interval(archive).value(), 5);
    EXPECT_EQ(sampling_interval(archive, &schema::kGpu).value(), 4);
}

TEST(record, an_interval_that_nobody_counted_is_the_usual_distance_of_samples) {
    Archive archive = samples();
    EXPECT_EQ(sampling_interval(archive, &schema::kHost).value(), 3);
    EXPECT_EQ(sampling_interval(archive, &schema::kGpu).value(), 2) << "of each GPU";
    EXPECT_EQ(sampling_interval(archive).value(), 1) << "nothing tells";
}

TEST(record, an_interval_that_nobody_counted_is_the_manifests) {
    RecordFixture record;
    record.record("n1", 5, true, 0);
    Manifest manifest = read_manifest(record.path()).value();
    manifest.interval = std::chrono::seconds(7);
    ASSERT_TRUE(core::replace_file(manifest_path(record.path()), to_json(manifest)));
    Archive archive = Archive::open(record.path()).value();
    EXPECT_EQ(sampling_interval(archive).value(), 7);
    EXPECT_EQ(sampling_interval(archive, &schema::kHost).value(), 7);
}

}  // namespace
}  // namespace belay::record
