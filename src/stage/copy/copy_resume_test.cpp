// A copy on one node that is killed, or whose source, disk or parts change: how it goes on.
#include "stage/copy/copy_testing.h"
#include "stage/copy/store.h"

#include <sys/resource.h>
#include <unistd.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using copy_testing::CopyCase;
using copy_testing::work_directories;
using testing::HasSubstr;
using testing::IsEmpty;

std::string chunks_left(CopyCase& data, uint64_t die_after) {
    auto process = core::Work::start({.what = "a copy"}, [&]() -> core::Result<std::string> {
                       data.options.faults.stored = CopyCase::die_at(die_after, data.destination());
                       data.options.readers = 1;
                       BELAY_TRY(report, data.here());
                       return std::to_string(report.chunks);
                   }).value();
    auto ended = process.finish(core::Deadline::after(std::chrono::seconds(60)));
    return ended ? *ended : ended.error().message();
}

TEST(stage_copy, killed_it_goes_on_where_it_was) {
    CopyCase data;
    data.some_files();
    chunks_left(data, 30);
    ASSERT_EQ(work_directories(data.destination()).size(), 1U);
    EXPECT_THAT(data.copied(), IsEmpty()) << "nothing appears before all is there";
    std::atomic<uint64_t> read = 0;
    data.options.reader = copy_testing::counting(read);
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    const CopyFigures& figures = report->nodes.at(0).figures;
    EXPECT_GT(figures.resumed_chunks, 0U);
    EXPECT_EQ(read, data.source_bytes() - figures.resumed_chunks * CopyCase::kChunk);
    EXPECT_EQ(data.copied(), data.wanted());
    EXPECT_THAT(work_directories(data.destination()), IsEmpty());
}

TEST(stage_copy, a_chunk_that_was_damaged_in_between_is_read_again) {
    CopyCase data;
    data.some_files();
    chunks_left(data, 60);
    const fs::path work = work_directories(data.destination()).at(0);
    const auto plan = list_copy(data.source(), {.chunk_bytes = CopyCase::kChunk}).value().plan;
    const auto large = std::ranges::find(plan.files, "large.bin", &SourceFile::path) - plan.files.begin();
    // In the middle of every chunk of the large file: whichever were held, they are damaged.
    std::fstream part(work / std::to_string(large), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<int64_t>(fs::file_size(work / std::to_string(large)));
    ASSERT_GT(size, 0);
    for (int64_t at = 0; at < size; at += CopyCase::kChunk) {
        part.seekg(at);
        const int byte = part.get();
        part.seekp(at);
        part.put(static_cast<char>(byte ^ 1));
    }
    part.close();
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, a_state_that_is_damaged_says_nothing) {
    CopyCase data;
    data.some_files();
    chunks_left(data, 30);
    std::ofstream(work_directories(data.destination()).at(0) / "state", std::ios::trunc) << "nonsense";
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->nodes.at(0).figures.resumed_chunks, 0U);
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, a_changed_source_begins_anew) {
    CopyCase data;
    data.some_files();
    chunks_left(data, 30);
    data.file("class0/000.jpg", "another content");
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->nodes.at(0).figures.resumed_chunks, 0U);
    EXPECT_EQ(data.copied(), data.wanted());
    EXPECT_THAT(work_directories(data.destination()), IsEmpty()) << "what the other left is gone";
}

TEST(stage_copy, a_source_that_changes_meanwhile_is_noticed_and_nothing_appears) {
    CopyCase data;
    data.some_files();
    data.options.readers = 1;
    data.options.faults.stored = [&](uint64_t held) {
        if (held == 5) data.file("large.bin", CopyCase::noise(50 * CopyCase::kChunk + 17, 2));
    };
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(report.error().message(), HasSubstr("has changed since the files were listed"));
    EXPECT_THAT(data.copied(), IsEmpty());
}

TEST(stage_copy, a_file_that_shrinks_meanwhile_is_noticed) {
    CopyCase data;
    data.some_files();
    data.options.readers = 1;
    data.options.faults.stored = [&](uint64_t held) {
        if (held == 20) fs::resize_file(data.source() / "large.bin", 3);
    };
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("has changed"));
}

TEST(stage_copy, what_does_not_fit_is_refused_before_anything_is_written) {
    CopyCase data;
    data.file("huge", "");
    if (truncate((data.source() / "huge").c_str(), int64_t{15} << 40) != 0)
        GTEST_SKIP() << "no file of that size can be here";
    data.options.chunk_bytes = kMostChunk;
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().cause(), core::Cause::kNoSpace);
    EXPECT_FALSE(fs::exists(data.destination()));
}

// As a disk that is full in mid-copy.
TEST(stage_copy, a_write_that_fails_is_told_and_the_copy_goes_on_later) {
    CopyCase data;
    data.some_files();
    auto process = core::Work::start({.what = "a copy"}, [&]() -> core::Result<std::string> {
                       const rlimit limit{20 * CopyCase::kChunk, 20 * CopyCase::kChunk};
                       setrlimit(RLIMIT_FSIZE, &limit);
                       signal(SIGXFSZ, SIG_IGN);
                       BELAY_CHECK(data.here());
                       return "whole";
                   }).value();
    const auto ended = process.finish(core::Deadline::after(std::chrono::seconds(60)));
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message(), HasSubstr("cannot write"));
    EXPECT_THAT(ended.error().hint_text(), HasSubstr("what is there already is kept"));
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_GT(report->nodes.at(0).figures.resumed_chunks, 0U);
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, with_a_rate_the_source_is_read_in_pieces_of_a_quarter_of_a_second) {
    CopyCase data;
    data.file("a", CopyCase::noise(100'000, 1));
    data.options.rate = 40'000;
    data.options.readers = 1;
    uint64_t largest = 0, read = 0;
    data.options.reader = [&](const CopySource& source) -> ReadSegment {
        return [&, real = source_reader(source)](const Segment& segment, char* into) {
            largest = std::max(largest, segment.bytes);
            read += segment.bytes;
            return real(segment, into);
        };
    };
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(largest, 10'000U);
    EXPECT_EQ(read, 100'000U);
    EXPECT_EQ(data.copied(), data.wanted());
}

}  // namespace
}  // namespace belay::stage
