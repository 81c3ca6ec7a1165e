// A copy on one node: what is copied, how it appears, how it goes on.
#include "core/testing/mounts.h"
#include "core/testing/sandbox.h"
#include "stage/copy/clean.h"
#include "stage/copy/copy_testing.h"
#include "stage/copy/store.h"
#include "stage/pack/pack.h"

#include <climits>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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

TEST(stage_copy, a_tree_is_copied_byte_for_byte_and_read_once) {
    CopyCase data;
    data.some_files();
    std::atomic<uint64_t> read = 0;
    data.options.reader = copy_testing::counting(read);
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(data.copied(), data.wanted());
    EXPECT_EQ(read, data.source_bytes());
    EXPECT_EQ(report->bytes, data.source_bytes());
    EXPECT_EQ(report->files, data.wanted().size());
    EXPECT_EQ(report->nodes.at(0).figures.received_bytes, data.source_bytes());
    EXPECT_THAT(work_directories(data.destination()), IsEmpty());
    EXPECT_TRUE(fs::exists(data.destination() / kCopyPrefix)) << "the sign that it is whole";
    EXPECT_TRUE(decode_sign(core::read_file(data.destination() / kCopyPrefix).value()));
    EXPECT_NE(fs::status(data.destination() / "tools/run.sh").permissions() & fs::perms::owner_exec,
              fs::perms::none);
    EXPECT_EQ(fs::last_write_time(data.destination() / "large.bin"),
              fs::last_write_time(data.source() / "large.bin"));
}

TEST(stage_copy, given_again_it_reads_nothing) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    std::atomic<uint64_t> read = 0;
    data.options.reader = copy_testing::counting(read);
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read, 0U);
    EXPECT_EQ(report->nodes.at(0).figures.resumed_chunks, report->chunks);
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, a_file_gets_the_name_that_is_given_or_its_own_in_a_directory) {
    CopyCase data;
    data.file("a.bin", CopyCase::noise(70'000, 1));
    const fs::path target = data.destination() / "b.bin";
    auto report = copy_here(data.source() / "a.bin", target, data.options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(core::read_file(target).value(), CopyCase::noise(70'000, 1));
    EXPECT_EQ(data.copied().size(), 1U);
    EXPECT_FALSE(fs::exists(data.destination() / kCopyPrefix)) << "nothing but the file";
    report = copy_here(data.source() / "a.bin", data.destination(), data.options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(core::read_file(data.destination() / "a.bin").value(), CopyCase::noise(70'000, 1));
    EXPECT_THAT(work_directories(data.destination()), IsEmpty());
}

TEST(stage_copy, of_packed_data_what_the_manifest_names_is_copied) {
    CopyCase data;
    data.some_files();
    const fs::path packed = data.destination(7);
    ASSERT_TRUE(pack(data.source(), packed, {.shard_bytes = 200'000, .tool = "test"}));
    std::ofstream(packed / "notes.txt") << "not part of it";
    const auto report = copy_here(packed, data.destination(), data.options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->kind, CopyKind::kPacked);
    auto expected = copy_testing::tree_of(packed);
    expected.erase("notes.txt");
    EXPECT_GT(expected.size(), 5U) << "shards, indexes and the manifest";
    EXPECT_EQ(data.copied(), expected);
}

TEST(stage_copy, a_directory_of_empty_files_is_copied) {
    CopyCase data;
    data.file("a", "");
    data.file("b/c", "");
    ASSERT_TRUE(data.here());
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, what_is_there_already_is_not_touched) {
    CopyCase data;
    data.some_files();
    fs::create_directories(data.destination() / "class1");
    std::ofstream(data.destination() / "class1/001.jpg") << "mine";
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(report.error().message(), HasSubstr("class1/001.jpg is there already"));
    EXPECT_EQ(data.copied().size(), 1U);
    EXPECT_THAT(work_directories(data.destination()), IsEmpty());
}

TEST(stage_copy, other_files_in_the_same_directory_stay) {
    CopyCase data;
    data.some_files();
    fs::create_directories(data.destination());
    std::ofstream(data.destination() / "mine.txt") << "mine";
    ASSERT_TRUE(data.here());
    auto expected = data.wanted();
    expected["mine.txt"] = "mine";
    EXPECT_EQ(data.copied(), expected);
}

TEST(stage_copy, a_link_in_the_destination_is_not_followed) {
    CopyCase data;
    data.some_files();
    fs::create_directories(data.destination());
    fs::create_directories(data.destination(5));
    fs::create_directory_symlink(data.destination(5), data.destination() / "class1");
    EXPECT_FALSE(data.here());
    EXPECT_THAT(copy_testing::tree_of(data.destination(5)), IsEmpty());
}

TEST(stage_copy, a_destination_within_the_source_is_refused) {
    CopyCase data;
    data.some_files();
    const auto report = copy_here(data.source(), data.source() / "copy", data.options);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("lies within"));
    EXPECT_FALSE(fs::exists(data.source() / "copy"));
}

// mount --bind, or a file system that is mounted at two places.
TEST(stage_copy, a_destination_that_is_the_source_under_another_name_is_refused) {
    CopyCase data;
    data.some_files();
    const fs::path other = data.destination();
    fs::create_directories(other);
    for (const char* part : {"", "class1"})
        core::expect_in_mounts([&](const core::Bind& bind) {
            bind(data.source() / part, other);
            for (const char* beneath : {"", "new", "new/deeper"}) {
                const auto report = copy_here(data.source(), other / beneath, data.options);
                ASSERT_FALSE(report) << part << " " << beneath;
                EXPECT_EQ(report.error().kind(), core::ErrorKind::kBadInput);
                EXPECT_THAT(report.error().message(), HasSubstr("another name of the same directory"));
            }
            EXPECT_FALSE(fs::exists(data.source() / "new"));
            EXPECT_FALSE(fs::exists(data.source() / kCopyPrefix));
        });
}

TEST(stage_copy, a_file_that_is_the_source_under_another_name_is_refused) {
    CopyCase data;
    data.file("sub/a.bin", "content");
    fs::create_directories(data.destination());
    core::expect_in_mounts([&](const core::Bind& bind) {
        bind(data.source() / "sub", data.destination());
        for (const char* name : {"", "a.bin"}) {
            const auto report =
                copy_here(data.source() / "sub/a.bin", data.destination() / name, data.options);
            ASSERT_FALSE(report) << name;
            EXPECT_THAT(report.error().message(), HasSubstr("under another name")) << name;
        }
    });
    EXPECT_EQ(data.wanted().size(), 1U);
}

TEST(stage_copy, hard_links_to_the_source_are_no_copy_of_it) {
    CopyCase data;
    data.file("a", "content");
    fs::create_directories(data.destination());
    fs::create_hard_link(data.source() / "a", data.destination() / "a");
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("the source's own file"));
}

// Its source lies in the destination, and the names of some files lead there.
TEST(stage_copy, a_copy_into_its_own_source_from_above_is_refused) {
    CopyCase data;
    data.file("a", "content");
    data.file("source/b", "content");
    const auto report = copy_here(data.source(), data.source().parent_path(), data.options);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message(), HasSubstr("is a directory of the source"));
    EXPECT_FALSE(fs::exists(data.source() / "b"));
}

TEST(stage_copy, beside_its_source_a_copy_can_be_made) {
    CopyCase data;
    data.file("a", "content");
    const fs::path above = data.source().parent_path();
    ASSERT_TRUE(copy_here(data.source(), above, data.options));
    EXPECT_EQ(core::read_file(above / "a").value(), "content");
}

// A file system that keeps the size and the time may still give back something else.
TEST(stage_copy, what_was_damaged_since_is_noticed_when_the_copy_is_given_again) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    copy_testing::damage(data.destination() / "class1/001.jpg");
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(report.error().message(), HasSubstr("is something else than what is copied"));
}

TEST(stage_copy, what_others_put_there_is_compared_with_the_source) {
    CopyCase data;
    data.some_files();
    fs::create_directories(data.destination().parent_path());
    const auto put = [&] {
        fs::remove_all(data.destination());
        fs::copy(data.source(), data.destination(), fs::copy_options::recursive);
        for (const auto& [path, content] : data.wanted())
            fs::last_write_time(data.destination() / path, fs::last_write_time(data.source() / path));
    };
    put();
    std::atomic<uint64_t> read = 0;
    data.options.reader = copy_testing::counting(read);
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read, data.source_bytes());
    EXPECT_EQ(report->nodes.at(0).figures.resumed_chunks, 0U);
    put();
    copy_testing::damage(data.destination() / "large.bin");
    EXPECT_THAT(data.here().error().message(), HasSubstr("is something else than what is copied"));
}

TEST(stage_copy, a_sign_that_is_something_else_is_not_replaced) {
    CopyCase data;
    data.file("a", "content");
    fs::create_directories(data.destination());
    std::ofstream(data.destination() / kCopyPrefix) << "mine";
    const auto report = data.here();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(core::read_file(data.destination() / kCopyPrefix).value(), "mine");
    EXPECT_THAT(data.copied(), IsEmpty());
    EXPECT_THAT(work_directories(data.destination()), IsEmpty());
}

TEST(stage_copy, paths_longer_than_the_kernel_takes_are_copied) {
    CopyCase data;
    data.file("a", "short");
    const auto root = core::Directory::open(data.source()).value();
    std::string name;
    for (const std::string part(200, 'p'); name.size() < 2 * PATH_MAX; name += "/")
        ASSERT_TRUE(root.make_directory(name += part).value());
    name += "file";
    ASSERT_TRUE(core::write_all(root.open_file(name, O_RDWR | O_CREAT)->get(), "deep", "file"));
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->files, 2U);
    const auto copied = core::Directory::open(data.destination()).value();
    EXPECT_EQ(copied.read_file(name, 100).value(), "deep");
    const auto cleaned = clean_copy(data.destination());
    ASSERT_TRUE(cleaned) << cleaned.error().message();
    EXPECT_EQ(cleaned->files, 2U);
    EXPECT_FALSE(fs::exists(data.destination()));
}

TEST(stage_copy, where_there_is_no_flock_a_copy_is_made_all_the_same) {
    core::expect_where_call_fails(SYS_flock, ENOSYS, [] {
        CopyCase data;
        data.some_files();
        std::optional<core::Error> second;
        std::once_flag once;
        data.options.faults.stored = [&](uint64_t) {
            std::call_once(once, [&] {
                auto held = lock_work(core::Directory::open(data.destination()).value(),
                                      work_directories(data.destination()).at(0).filename(), false);
                if (!held) second = held.error();
            });
        };
        const auto report = data.here();
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(data.copied(), data.wanted());
        ASSERT_TRUE(second);
        EXPECT_THAT(second->message(), HasSubstr("another process copies to"));
        EXPECT_TRUE(data.here());
        EXPECT_TRUE(clean_copy(data.destination()));
        EXPECT_FALSE(fs::exists(data.destination()));
    });
}

TEST(stage_copy, two_copies_at_once_to_one_place_are_refused) {
    CopyCase data;
    data.some_files();
    std::optional<core::Error> second;
    std::once_flag once;
    data.options.faults.stored = [&](uint64_t) {
        std::call_once(once, [&] {
            CopyOptions plain = data.options;
            plain.faults = {};
            if (auto report = copy_here(data.source(), data.destination(), plain); !report)
                second = report.error();
        });
    };
    ASSERT_TRUE(data.here());
    ASSERT_TRUE(second);
    EXPECT_THAT(second->message(), HasSubstr("another process copies to"));
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy, one_that_waits_for_another_finds_what_that_one_brought) {
    CopyCase data;
    data.some_files();
    std::once_flag once;
    std::atomic<bool> waits = false;
    core::Result<CopyReport> report = CopyReport{};
    std::jthread second;
    data.options.faults.stored = [&](uint64_t) {
        std::call_once(once, [&] {
            second = std::jthread([&] {
                CopyOptions patient = data.options;
                patient.faults = {};
                patient.patience.other = std::chrono::minutes(5);
                waits = true;
                waits.notify_all();
                report = copy_here(data.source(), data.destination(), patient);
            });
            waits.wait(false);
        });
    };
    const auto first = data.here();
    ASSERT_TRUE(first) << first.error().message();
    second.join();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->nodes[0].figures.received_bytes, 0U);
    EXPECT_EQ(data.copied(), data.wanted());
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
