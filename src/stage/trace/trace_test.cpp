#include "stage/trace/trace.h"

#include "core/file.h"
#include "record/place.h"
#include "schema/tables/event.h"
#include "shard/manifest.h"
#include "stream/event.h"
#include "stream/segment.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class stage_trace : public testing::Test {
  protected:
    // Of a job that read or was brought what lies at `where`, on each node.
    fs::path record(const std::string& name, int64_t job, const std::string& kind, const std::string& where,
                    int64_t second, const std::vector<std::string>& nodes = {"n1"}) {
        const fs::path path = root / "records" / name;
        fs::create_directories(path.parent_path());
        record::Manifest manifest;
        manifest.job.id = job;
        manifest.job.user = "ada";
        manifest.created = core::time_from_nanoseconds(second * 1'000'000'000);
        EXPECT_TRUE(record::begin_record(path, manifest));
        stream::Batch rows(schema::kEvent);
        for (const std::string& node : nodes)
            stream::add_event(rows, manifest.created, node,
                              {.kind = schema::EventKind("task_start"), .severity = "info", .message = "x"}),
                stream::add_event(rows, manifest.created, node,
                                  {.kind = kind == "data_read" ? schema::EventKind("data_read")
                                                               : schema::EventKind("data_staged"),
                                   .severity = "info",
                                   .subject = where,
                                   .message = "x"});
        const stream::Session session{
            .node = "n1", .task = {}, .periodic = false, .start = manifest.created, .version = "test"};
        auto segment = stream::SegmentWriter::create(record::segments_path(path) / "n1.seg", session);
        EXPECT_TRUE(segment && segment->append(rows) && segment->finish(manifest.created));
        return path;
    }

    void pack(const fs::path& directory, const std::string& root_of_source,
              const std::string& revision = "r1") {
        fs::create_directories(directory);
        shard::Manifest manifest{.name = "train", .created = "2026-01-01T00:00:00Z", .tool = "test"};
        manifest.source.root = root_of_source;
        manifest.source.listing_sha256 = std::string(64, '0');
        manifest.source.licence = "CC-BY-4.0";
        manifest.source.revision = revision;
        manifest.shards.push_back({.path = "train-000000.tar",
                                   .bytes = 1,
                                   .records = 1,
                                   .samples = 1,
                                   .sha256 = std::string(64, '0'),
                                   .index_sha256 = std::string(64, '0')});
        ASSERT_TRUE(core::replace_file(directory / shard::kManifestName, shard::encode_manifest(manifest)));
        ASSERT_TRUE(core::replace_file(directory / "train-000000.tar", "x"));
    }

    std::vector<int64_t> jobs(const std::string& words) {
        const auto data = find_data(words);
        EXPECT_TRUE(data) << data.error().message();
        const auto report = trace(*data, std::vector{root / "records"});
        EXPECT_TRUE(report);
        std::vector<int64_t> ids;
        for (const TracedJob& job : report->jobs) ids.push_back(*job.job.id);
        return ids;
    }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    fs::path root = fs::canonical(directory.path());
};

TEST_F(stage_trace, jobs_that_had_shards_open_or_got_a_copy_are_found_by_shard_directory_and_source) {
    pack(root / "packed", "/scratch/loose");
    record("b", 2, "data_read", root / "packed", 200);
    record("deep/er/a", 1, "data_staged", root / "packed", 100);
    record("c", 3, "data_read", root / "other", 300);
    for (const std::string& words :
         {(root / "packed/train-000000.tar").string(), (root / "packed").string(),
          std::string("/scratch/loose"), std::string("CC-BY-4.0"), std::string("r1")})
        EXPECT_THAT(jobs(words), ElementsAre(1, 2)) << words;
    EXPECT_THAT(jobs("another licence"), IsEmpty());
    EXPECT_THAT(jobs((root / "packed2").string()), IsEmpty()) << "begins like it";
}

TEST_F(stage_trace, what_lies_above_and_below_counts) {
    pack(root / "all/packed", "/scratch/loose");
    record("a", 1, "data_staged", root / "all", 100);
    record("b", 2, "data_read", root / "all/packed/sub", 200);
    record("c", 3, "data_read", root / "all", 300);
    EXPECT_THAT(jobs((root / "all/packed").string()), ElementsAre(1, 2))
        << "a file above it is not a reading of it";
}

TEST_F(stage_trace, a_source_that_was_named_by_a_link_is_found) {
    fs::create_directories(root / "lustre/train");
    fs::create_symlink(root / "lustre", root / "scratch");
    record("a", 1, "data_staged", root / "scratch/train", 100);
    EXPECT_THAT(jobs((root / "scratch/train").string()), ElementsAre(1));
    EXPECT_THAT(jobs((root / "lustre/train").string()), ElementsAre(1));
    EXPECT_THAT(jobs((root / "lustre/other").string()), IsEmpty());
}

TEST_F(stage_trace, a_copy_with_the_same_manifest_is_the_same_data) {
    pack(root / "packed", "/scratch/loose");
    pack(root / "copy", "/scratch/loose");
    pack(root / "newer", "/scratch/loose", "r2");
    record("a", 1, "data_read", root / "copy", 100);
    record("b", 2, "data_read", root / "newer", 200);
    EXPECT_THAT(jobs((root / "packed").string()), ElementsAre(1));
    EXPECT_THAT(jobs("/scratch/loose"), ElementsAre(1, 2));
}

TEST_F(stage_trace, nodes_are_counted_and_records_that_cannot_be_read_are_named) {
    pack(root / "packed", "/scratch/loose");
    record("a", 1, "data_read", root / "packed", 100, {"n1", "n2", "n3"});
    fs::create_directories(root / "records/broken");
    ASSERT_TRUE(core::replace_file(root / "records/broken/record.json", "{"));
    const auto data = find_data((root / "packed").string()).value();
    const auto report =
        trace(data, std::vector{root / "records", root / "records", root / "nowhere"}).value();
    ASSERT_EQ(report.jobs.size(), 1U);
    EXPECT_EQ(report.jobs[0].readings[0].nodes.size(), 3U);
    EXPECT_EQ(report.records, 2U);
    ASSERT_EQ(report.unread.size(), 2U);
    EXPECT_EQ(report.unread[0].record, root / "nowhere");
    EXPECT_EQ(report.unread[1].record, root / "records/broken");
}

TEST_F(stage_trace, a_damaged_manifest_and_no_words_are_errors) {
    pack(root / "packed", "/scratch/loose");
    ASSERT_TRUE(core::replace_file(root / "packed/manifest.json", "{}"));
    EXPECT_EQ(find_data((root / "packed").string()).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(find_data("").error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::stage
