#include "server/records/stored_stream.h"

#include "server/records/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Times of the rows that a call of read() gives, in seconds, and what it says beside them.
struct Given {
    std::vector<double> host;
    size_t pieces = 0;
    uint64_t gone_blocks = 0;
    bool had_end = false;
    std::string error;
};

Given read_all(StoredStream& source) {
    Given given;
    const auto read = source.read([&](const stream::Piece& piece) -> core::Result<bool> {
        given.gone_blocks += piece.gone_blocks;
        given.had_end |= piece.bytes.empty();
        if (piece.bytes.empty()) return true;
        ++given.pieces;
        const auto summary =
            stream::read_segment_bytes(piece.bytes, "piece", [&](const stream::Batch& batch) {
                if (&batch.table() != &schema::kHost) return;
                for (int64_t time : batch.values(0).integers)
                    given.host.push_back(core::to_seconds(core::time_from_nanoseconds(time) - at(0)));
            });
        EXPECT_TRUE(summary && summary->whole() && summary->session);
        return true;
    });
    if (!read) given.error = read.error().message();
    return given;
}

// A stream of 300 seconds, as uploads.
struct Streams {
    Streams() {
        site.write({.last = 300}, {});
        uploads = uploads_of(site.spool(), 4000);
        intake = site.open();
    }
    StoredStream source(double from, double to) const {
        const TimeRange range{at(from), at(to)};
        return {*intake, agent_session({}).stream(), range, range};
    }
    Site site;
    std::vector<std::string> uploads;
    std::unique_ptr<Intake> intake;
};

TEST(server_records, a_stored_stream_gives_the_same_again) {
    Streams streams;
    Site::upload(*streams.intake, streams.uploads);
    StoredStream all = streams.source(-10, 400);
    const Given first = read_all(all), second = read_all(all);
    EXPECT_THAT(first.host, SizeIs(300));
    EXPECT_TRUE(first.had_end);
    EXPECT_EQ(second.host, first.host);
    EXPECT_FALSE(second.had_end);
    EXPECT_EQ(first.gone_blocks, 0U);
}

TEST(server_records, a_stored_stream_gives_its_beginning_and_the_range_each_block_once) {
    Site late;
    late.write({.last = 9000}, {});
    const auto other = late.open();
    Site::upload(*other, uploads_of(late.spool(), 20'000));
    const TimeRange range{at(7000), at(7100)};
    StoredStream source(*other, agent_session({}).stream(), range, range);
    const Given given = read_all(source);
    EXPECT_TRUE(std::ranges::is_sorted(given.host, std::ranges::less_equal())) << "each once";
    EXPECT_EQ(given.host.front(), 1);
    EXPECT_GE(given.host.back(), 7099);
    EXPECT_LT(given.host.back(), 7500);
    EXPECT_TRUE(
        std::ranges::none_of(given.host, [](double second) { return second > 4100 && second < 6500; }));
    EXPECT_EQ(read_all(source).host, given.host);
    // Where both are the same time nothing comes twice.
    const TimeRange early{at(1000), at(1100)};
    StoredStream overlapping(*other, agent_session({}).stream(), early, early);
    EXPECT_TRUE(std::ranges::is_sorted(read_all(overlapping).host, std::ranges::less_equal()));
}

TEST(server_records, a_stored_stream_leaves_out_what_came_since_the_first_time) {
    Streams streams;
    const size_t middle = streams.uploads.size() / 2;
    Site::upload(*streams.intake,
                 {streams.uploads.begin(), streams.uploads.begin() + static_cast<std::ptrdiff_t>(middle)});
    StoredStream all = streams.source(-10, 400);
    const Given first = read_all(all);
    Site::upload(*streams.intake, streams.uploads);
    EXPECT_EQ(read_all(all).host, first.host);
    EXPECT_LT(first.host.size(), 300U);
}

TEST(server_records, a_stored_stream_says_when_blocks_are_gone) {
    Streams streams;
    Site::upload(*streams.intake, streams.uploads);
    StoredStream all = streams.source(-10, 400);
    read_all(all);
    const auto files = core::files_with_suffix(streams.site.path("blocks"), ".blk").value();
    for (const auto& file : files) std::filesystem::remove(file);
    EXPECT_FALSE(read_all(all).error.empty());
}

TEST(server_records, a_stored_stream_tells_gaps_once_and_only_those_of_the_time) {
    Streams streams;
    const size_t middle = streams.uploads.size() / 2;  // at some 150 s
    for (size_t i = 0; i < streams.uploads.size(); ++i)
        if (i != middle) Site::upload(*streams.intake, {streams.uploads[i]});
    StoredStream all = streams.source(-10, 400);
    EXPECT_GT(read_all(all).gone_blocks, 0U);
    EXPECT_EQ(read_all(all).gone_blocks, 0U);
    StoredStream before = streams.source(0, 100), behind = streams.source(200, 400);
    EXPECT_EQ(read_all(before).gone_blocks, 0U);
    EXPECT_EQ(read_all(behind).gone_blocks, 0U);
}

TEST(server_records, a_stored_stream_ends_where_nothing_more_is_wanted) {
    Streams streams;
    Site::upload(*streams.intake, streams.uploads);
    StoredStream all = streams.source(-10, 400);
    int pieces = 0;
    ASSERT_TRUE(all.read([&](const stream::Piece&) -> core::Result<bool> {
        ++pieces;
        return false;
    }));
    EXPECT_EQ(pieces, 1);
    const auto failed =
        all.read([](const stream::Piece&) -> core::Result<bool> { return core::bad_input("no"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(), "no");
}

}  // namespace
}  // namespace belay::server
