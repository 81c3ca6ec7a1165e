#include "core/file.h"
#include "record/archive/archive.h"
#include "record/archive/segments.h"
#include "record/archive/testing.h"
#include "stream/segment_format.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

// The name of every file below a directory.
std::vector<std::string> files_in(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::vector<fs::path> paths_of(const std::vector<LeftSegment>& segments) {
    std::vector<fs::path> paths;
    for (const LeftSegment& segment : segments) paths.push_back(segment.path);
    return paths;
}

std::string refusal(const fs::path& record) {
    auto sealed = seal(record, kStart);
    EXPECT_FALSE(sealed);
    EXPECT_FALSE(read_manifest(record)->sealed);
    return sealed ? "" : sealed.error().render();
}

TEST(record, sealing_twice_changes_nothing) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_FALSE(seal(fixture.path(), kStart).value().sealed_before);
    auto manifest = core::read_file(manifest_path(fixture.path())).value();
    EXPECT_TRUE(seal(fixture.path(), kStart + seconds(99)).value().sealed_before);
    EXPECT_EQ(core::read_file(manifest_path(fixture.path())).value(), manifest);
}

TEST(record, a_record_that_is_being_written_is_not_sealed) {
    RecordFixture fixture;
    auto writer = stream::SegmentWriter::create(segments_path(fixture.path()) / "n1.seg",
                                                {.node = "n1", .start = kStart});
    ASSERT_TRUE(writer);
    auto sealed = seal(fixture.path(), kStart);
    ASSERT_FALSE(sealed);
    EXPECT_EQ(sealed.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_TRUE(info(fixture.path()).being_written);
}

TEST(record, joining_and_sealing_exclude_each_other) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    {
        auto joined = join_record(fixture.path());
        ASSERT_TRUE(joined);
        EXPECT_TRUE(join_record(fixture.path()));  // many may
        EXPECT_FALSE(seal(fixture.path(), kStart));
    }
    {
        auto claimed = claim_record(fixture.path());
        ASSERT_TRUE(claimed);
        EXPECT_FALSE(join_record(fixture.path()));
        EXPECT_FALSE(seal(fixture.path(), kStart));
    }
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto late = join_record(fixture.path());
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message(), HasSubstr("is sealed"));
}

TEST(record, a_recorder_that_another_node_may_still_run_keeps_the_record_open) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    fixture.record("n2", 3, false, 3);
    fs::last_write_time(fixture.segment("n2"), fs::file_time_type::clock::now());
    EXPECT_TRUE(info(fixture.path()).being_written);
    EXPECT_TRUE(info(fixture.path()).lost.empty());
    EXPECT_THAT(refusal(fixture.path()), HasSubstr("is still being recorded"));
    EXPECT_THAT(files_in(segments_path(fixture.path())), ElementsAre("n1-0.seg", "n2-0.seg"));
    RecordFixture::age(fixture.segment("n2"));
    EXPECT_TRUE(seal(fixture.path(), kStart));
}

TEST(record, segments_that_cannot_be_listed_are_an_error_and_stay) {
    RecordFixture fixture;
    fs::remove(segments_path(fixture.path()));
    std::ofstream(segments_path(fixture.path())) << "in the way";
    auto archive = Archive::open(fixture.path());
    ASSERT_FALSE(archive);
    EXPECT_EQ(archive.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(refusal(fixture.path()), HasSubstr("segments: Not a directory"));
    EXPECT_TRUE(fs::exists(segments_path(fixture.path())));
    fs::remove(segments_path(fixture.path()));
    EXPECT_EQ(info(fixture.path()).tables["host"].rows, 0) << "a record that has just begun";
}

TEST(record, damaged_segments_are_kept_and_named) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    fixture.record("n2", 3, true, 3);
    std::ofstream(fixture.segment("n2"), std::ios::app) << "something foreign";
    std::string damaged = core::read_file(fixture.segment("n2")).value();
    fs::path lost = lost_segments_path(fixture.path()) / "n2-0.seg";
    for (bool sealed_before : {false, true}) {
        auto sealing = seal(fixture.path(), kStart);
        ASSERT_TRUE(sealing) << sealing.error().message();
        EXPECT_EQ(sealing->sealed_before, sealed_before);
        EXPECT_THAT(paths_of(sealing->left), ElementsAre(lost));
        EXPECT_FALSE(sealing->left[0].failure);
    }
    EXPECT_EQ(core::read_file(lost).value(), damaged);
    EXPECT_FALSE(fs::exists(segments_path(fixture.path())));
    RecordInfo facts = info(fixture.path());
    EXPECT_EQ(facts.tables["host"].rows, 6);
    ASSERT_EQ(facts.lost.size(), 1u);
    EXPECT_EQ(facts.lost[0].file, "n2-0.seg");
}

TEST(record, what_a_kill_left_unfinished_goes_with_the_next_seal) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    const std::vector<std::string> tables = files_in(tables_path(fixture.path()));
    std::ofstream(tables_path(fixture.path()) / "gpu_summary.parquet.tmp-0123456789abcdef") << "a part";
    std::ofstream(fixture.path() / "record.json.tmp-0123456789abcdef") << "a part";
    EXPECT_TRUE(seal(fixture.path(), kStart)->sealed_before);
    EXPECT_EQ(files_in(tables_path(fixture.path())), tables);
    EXPECT_FALSE(fs::exists(fixture.path() / "record.json.tmp-0123456789abcdef"));
}

TEST(record, a_segment_of_a_newer_format_keeps_the_record_open) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    std::fstream(fixture.segment("n1"), std::ios::in | std::ios::out)
        .seekp(stream::kSegmentMagic.size())
        .put(stream::kSegmentVersion + 1);
    EXPECT_THAT(refusal(fixture.path()), HasSubstr("n1-0.seg was written by a newer version of Belay"));
    EXPECT_TRUE(fs::exists(fixture.segment("n1")));
    EXPECT_EQ(info(fixture.path()).lost.size(), 1u);
}

TEST(record, segments_that_change_while_they_are_read_are_noticed) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    auto read = stream::read_segment(fixture.segment("n1"), [](const stream::Batch&) {}).value();
    auto record = open_record(fixture.path()).value();
    EXPECT_TRUE(check_unchanged(record, {read}));
    fixture.record("n2", 3, true, 3);
    EXPECT_FALSE(check_unchanged(record, {read})) << "one came";
    fs::remove(fixture.segment("n2"));
    std::ofstream(fixture.segment("n1"), std::ios::app) << "more";
    EXPECT_FALSE(check_unchanged(record, {read})) << "it grew";
}

TEST(record, a_seal_that_fails_leaves_the_record_as_it_was) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    const fs::path last =
        tables_path(fixture.path()) / fmt::format("{}.parquet", schema::tables().back()->name);
    fs::create_directories(last / "in the way");
    EXPECT_THAT(refusal(fixture.path()), HasSubstr(fmt::format("cannot replace {}", last.string())));
    EXPECT_THAT(files_in(tables_path(fixture.path())), ElementsAre(last.filename().string()));
    EXPECT_THAT(files_in(segments_path(fixture.path())), ElementsAre("n1-0.seg"));
    fs::remove_all(last);
    EXPECT_TRUE(seal(fixture.path(), kStart));
}

TEST(record, what_a_killed_seal_left_over_goes_if_it_is_in_the_tables) {
    RecordFixture fixture;
    for (const char* node : {"n1", "n2", "n3"}) fixture.record(node, 3, true, 3);
    fs::path before = fixture.path().parent_path() / "before";
    fs::copy(segments_path(fixture.path()), before);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    fs::rename(before, segments_path(fixture.path()));
    std::ofstream(fixture.segment("n2"), std::ios::app) << "more";
    fixture.record("n4", 3, true, 3);
    auto sealing = seal(fixture.path(), kStart);
    ASSERT_TRUE(sealing);
    EXPECT_THAT(paths_of(sealing->left), ElementsAre(fixture.segment("n2"), fixture.segment("n4")));
    EXPECT_THAT(files_in(segments_path(fixture.path())), ElementsAre("n2-0.seg", "n4-0.seg"));
}

TEST(record, a_damaged_segment_that_cannot_be_moved_is_told_with_the_reason) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    std::ofstream(fixture.segment("n1"), std::ios::app) << "something foreign";
    std::ofstream(lost_segments_path(fixture.path())) << "in the way";
    auto sealing = seal(fixture.path(), kStart);
    ASSERT_TRUE(sealing) << sealing.error().message();
    ASSERT_THAT(paths_of(sealing->left), ElementsAre(fixture.segment("n1")));
    ASSERT_TRUE(sealing->left[0].failure);
    EXPECT_THAT(sealing->left[0].failure->message(), HasSubstr("not all of it is in the tables: "));
    EXPECT_THAT(sealing->left[0].failure->message(), HasSubstr("segments-lost is a regular file"));
}

TEST(record, segments_that_cannot_be_listed_are_told_with_the_reason) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    fs::remove_all(fixture.segment("n1").parent_path());
    fs::create_symlink("elsewhere", fixture.segment("n1").parent_path());
    const auto left = retire_segments(open_record(fixture.path()).value(), Manifest());
    ASSERT_THAT(paths_of(left), ElementsAre(fixture.segment("n1").parent_path()));
    EXPECT_TRUE(left[0].failure);
}

TEST(record, a_manifest_removes_nothing_but_segments) {
    RecordFixture fixture;
    Manifest manifest;
    for (const std::string& name : {std::string("../record.json"), std::string(".."), std::string(),
                                    manifest_path(fixture.path()).string()})
        manifest.segments[name] = {.bytes = fs::file_size(manifest_path(fixture.path())), .whole = true};
    EXPECT_TRUE(retire_segments(open_record(fixture.path()).value(), manifest).empty());
    EXPECT_TRUE(fs::exists(manifest_path(fixture.path())));
}

// The first segment is lent out, so that its reader waits: what happens while it is read, a test can decide.
TEST(record, a_record_that_is_sealed_while_it_is_read_is_read_as_sealed) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    fs::path copy = fixture.path().parent_path() / "copy";
    fs::copy(fixture.path(), copy, fs::copy_options::recursive);
    ASSERT_TRUE(seal(copy, kStart));
    signal(SIGIO, SIG_IGN);
    core::Descriptor lent = core::open_file(fixture.segment("n1"), O_RDWR).value();
    ASSERT_EQ(fcntl(lent.get(), F_SETLEASE, F_WRLCK), 0);
    std::atomic<bool> over = false;
    std::thread sealing([&] {
        while (!over && fcntl(lent.get(), F_GETLEASE) == F_WRLCK)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        fs::rename(tables_path(copy), tables_path(fixture.path()));
        fs::rename(manifest_path(copy), manifest_path(fixture.path()));
        fs::remove_all(segments_path(fixture.path()));
        fcntl(lent.get(), F_SETLEASE, F_UNLCK);  // the reader goes on
    });
    auto archive = Archive::open(fixture.path());
    over = true;
    sealing.join();
    ASSERT_TRUE(archive) << archive.error().message();
    EXPECT_TRUE(archive->info()->sealed);
    EXPECT_EQ(archive->info()->tables["host"].rows, 3);
}

}  // namespace
}  // namespace belay::record
