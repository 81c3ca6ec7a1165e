// A copy on one node: what is copied, how it appears, and what is refused.
#include "core/testing/mounts.h"
#include "core/testing/sandbox.h"
#include "stage/copy/clean.h"
#include "stage/copy/copy_testing.h"
#include "stage/copy/store.h"
#include "stage/pack/pack.h"

#include <climits>
#include <fcntl.h>
#include <sys/syscall.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using copy_testing::CopyCase;
using copy_testing::work_directories;
using testing::HasSubstr;
using testing::IsEmpty;

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
    const auto damaged = data.here();
    ASSERT_FALSE(damaged);
    EXPECT_THAT(damaged.error().message(), HasSubstr("is something else than what is copied"));
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

}  // namespace
}  // namespace belay::stage
