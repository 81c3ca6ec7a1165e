// For the tests of this folder: a small record, and what is in it.
#pragma once

#include "core/file.h"
#include "record/archive/archive.h"
#include "record/new_segment.h"
#include "schema/tables/coverage.h"
#include "schema/tables/host.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace belay::record {

inline const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'123'456'000);

// A record with one recorder on each node, each with `samples` rows of host at 1 Hz.
class RecordFixture {
  public:
    RecordFixture() : directory_(core::TemporaryDirectory::create("archive_test").value()) {
        Manifest manifest;
        manifest.job.id = 7;
        manifest.job.nodes = {"n1", "n2"};
        manifest.created = kStart;
        EXPECT_TRUE(begin_record(path(), manifest));
    }
    std::filesystem::path path() const { return directory_.path() / "it's a record"; }

    std::filesystem::path segment(const std::string& node, int first = 0) const {
        return segments_path(path()) / fmt::format("{}-{}.seg", node, first);
    }

    // A recorder that does not close its segment was killed an hour ago.
    void record(const std::string& node, int samples, bool closed, int counted, int first = 0) {
        stream::Session session{.node = node,
                                .start = kStart + std::chrono::seconds(first),
                                .interval = std::chrono::seconds(1),
                                .flush = std::chrono::seconds(2)};
        auto record = core::Directory::open(path());
        ASSERT_TRUE(record) << record.error().message();
        auto writer = new_segment(*record, segment(node, first).filename().native(), session);
        ASSERT_TRUE(writer) << writer.error().message();
        stream::Batch host(schema::kHost);
        for (int i = 1; i <= samples; ++i) {
            host.add_row(kStart + std::chrono::seconds(first + i), node);
            host.set(column(schema::kHost, "load_1m"), i * 0.5);
            host.set(column(schema::kHost, "memory_total_bytes"), int64_t{1} << 40);
        }
        ASSERT_TRUE(writer->append(host));
        if (counted > 0) {
            stream::Batch coverage(schema::kCoverage);
            coverage.add_row(kStart + std::chrono::seconds(first + counted), node);
            coverage.set(column(schema::kCoverage, "table_name"), "host");
            coverage.set(column(schema::kCoverage, "start"), kStart + std::chrono::seconds(first));
            coverage.set(column(schema::kCoverage, "interval_seconds"), 1.0);
            coverage.set(column(schema::kCoverage, "expected"), counted);
            coverage.set(column(schema::kCoverage, "received"), std::min(counted, samples));
            ASSERT_TRUE(writer->append(coverage));
        }
        if (closed) {
            ASSERT_TRUE(writer->finish(kStart + std::chrono::seconds(first + samples)));
        } else {
            age(segment(node, first));
        }
    }

    // As if nobody had written to it for an hour.
    static void age(const std::filesystem::path& file) {
        std::filesystem::last_write_time(
            file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }

  private:
    core::TemporaryDirectory directory_;
};

inline QueryResult query(const std::filesystem::path& record, const std::string& sql) {
    auto archive = Archive::open(record);
    EXPECT_TRUE(archive) << archive.error().message();
    auto result = archive->query(sql);
    EXPECT_TRUE(result) << result.error().message();
    return result.value_or(QueryResult{});
}

inline RecordInfo info(const std::filesystem::path& record) {
    auto archive = Archive::open(record);
    EXPECT_TRUE(archive) << archive.error().message();
    return archive->info().value();
}

}  // namespace belay::record
