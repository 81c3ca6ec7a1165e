#include "core/file.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"
#include "stream/spool.h"

#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stream {
namespace {

namespace fs = std::filesystem;
using core::Time;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const Time kBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

struct Fixture {
    core::TemporaryDirectory place = core::TemporaryDirectory::create("spool_test").value();
    core::ManualClock clock{kBegan};
    fs::path spool = place.path() / "spool";
    Session session{.node = "n1",
                    .start = kBegan,
                    .interval = seconds(1),
                    .cluster = "c",
                    .boot = "b",
                    .source = "agent",
                    .began = kBegan};

    SpoolWriter open(const SpoolLimits& limits) {
        return std::move(SpoolWriter::open(spool, session, limits, sink(), clock).value());
    }
    TrimSink sink() {
        return [this](const Trimmed& more) {
            trimmed.files += more.files;
            trimmed.bytes += more.bytes;
        };
    }
    Trimmed trimmed;
    std::vector<fs::path> files() const {
        auto files = core::files_with_suffix(spool, ".seg").value();
        std::ranges::sort(files);
        return files;
    }
};

Batch one_row(int64_t number) {
    Batch batch(schema::kEvent);
    batch.add_row(kBegan + seconds(number), "n1");
    batch.set(column(schema::kEvent, "task"), number);
    return batch;
}

// What a file says: its session's first block, and the tasks of its rows.
struct Contents {
    uint64_t first_block;
    std::vector<int64_t> tasks;
    bool ended;
};
Contents read(const fs::path& file) {
    Contents contents{};
    auto summary = read_segment(file, [&](const Batch& batch) {
        for (int64_t task : batch.values(column(schema::kEvent, "task")).integers)
            contents.tasks.push_back(task);
    });
    contents.first_block = summary->session->first_block;
    contents.ended = summary->ended.has_value();
    EXPECT_EQ(summary->session->stream(), (StreamId{"c", "n1", "b", "agent", kBegan}));
    EXPECT_TRUE(summary->lost.empty());
    return contents;
}

TEST(stream, a_spool_goes_on_in_the_next_file_after_its_time) {
    Fixture fixture;
    SpoolWriter writer = fixture.open({.file_time = seconds(60)});
    ASSERT_TRUE(writer.append(one_row(1)));
    fixture.clock.advance(seconds(59));
    ASSERT_TRUE(writer.append(one_row(2)));
    fixture.clock.advance(seconds(1));
    ASSERT_TRUE(writer.append(Batch(schema::kEvent))) << "nothing to write begins no file";
    ASSERT_THAT(fixture.files(), SizeIs(1));
    ASSERT_TRUE(writer.append(one_row(3)));
    ASSERT_TRUE(writer.finish(fixture.clock.now()));
    const auto files = fixture.files();
    ASSERT_THAT(files, SizeIs(2));
    const Contents first = read(files[0]), second = read(files[1]);
    EXPECT_THAT(first.tasks, ElementsAre(1, 2));
    EXPECT_THAT(second.tasks, ElementsAre(3));
    EXPECT_EQ(first.first_block, 0U);
    EXPECT_EQ(second.first_block, 4U) << "after a session, two blocks of rows and an end";
    EXPECT_TRUE(first.ended);
    EXPECT_TRUE(second.ended);
}

TEST(stream, the_oldest_files_of_a_spool_go_when_there_is_no_room) {
    Fixture fixture;
    const SpoolLimits limits{.file_bytes = 1, .spool_bytes = 60'000};
    uint64_t written = 0;
    {
        SpoolWriter writer = fixture.open(limits);  // a session takes some thousand bytes
        for (int64_t i = 0; i < 40; ++i) {
            ASSERT_TRUE(writer.append(one_row(i)));
        }
        ASSERT_TRUE(writer.finish(fixture.clock.now()));
        written = writer.bytes();
    }
    uint64_t left = 0;
    std::vector<int64_t> tasks;
    for (const fs::path& file : fixture.files()) {
        left += fs::file_size(file);
        std::ranges::copy(read(file).tasks, std::back_inserter(tasks));
    }
    EXPECT_LE(left, limits.spool_bytes + 10'000);
    EXPECT_EQ(left + fixture.trimmed.bytes, written);
    EXPECT_GT(fixture.trimmed.files, 0U);
    ASSERT_FALSE(tasks.empty());
    EXPECT_EQ(tasks.back(), 39);
    EXPECT_EQ(tasks.front(), 40 - static_cast<int64_t>(tasks.size()))
        << "the newest are left, in their order";
}

TEST(stream, files_of_another_writer_at_work_stay) {
    Fixture fixture;
    const SpoolLimits limits{.file_bytes = 1, .spool_bytes = 20'000};
    SpoolWriter other = fixture.open(limits);
    const auto others = fixture.files();
    fixture.session.began += seconds(1);
    SpoolWriter writer = fixture.open(limits);
    std::ofstream(fixture.spool / "notes.txt") << std::string(50'000, 'x');
    for (int64_t i = 0; i < 10; ++i) ASSERT_TRUE(writer.append(one_row(i)));
    EXPECT_TRUE(fs::exists(others.at(0)));
    EXPECT_TRUE(fs::exists(fixture.spool / "notes.txt")) << "is none of ours";
}

TEST(stream, a_spool_is_its_owners_alone) {
    Fixture fixture;
    fs::create_symlink(fixture.place.path(), fixture.place.path() / "link");
    (void)fixture.open({});
    struct stat facts{};
    ASSERT_EQ(stat(fixture.spool.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0700U);
    auto tight = SpoolWriter::open(fixture.spool, fixture.session, {.file_bytes = 100, .spool_bytes = 150});
    ASSERT_FALSE(tight);
    EXPECT_EQ(tight.error().kind(), core::ErrorKind::kBadInput);
}

TEST(stream, a_spool_that_another_user_could_exchange_is_refused) {
    Fixture fixture;
    const fs::path above = fixture.place.path() / "above";
    fixture.spool = above / "spool";
    ASSERT_EQ(mkdir(above.c_str(), 0700), 0);
    ASSERT_EQ(chmod(above.c_str(), 0777), 0);
    const auto refused = SpoolWriter::open(fixture.spool, fixture.session, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(refused.error().cause(), core::Cause::kDenied);
    EXPECT_FALSE(fs::exists(fixture.spool));
    ASSERT_EQ(chmod(above.c_str(), 01777), 0);
    EXPECT_TRUE(SpoolWriter::open(fixture.spool, fixture.session, {}));
}

}  // namespace
}  // namespace belay::stream
