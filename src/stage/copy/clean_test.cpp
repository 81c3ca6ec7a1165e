#include "stage/copy/clean.h"

#include "core/testing/mounts.h"
#include "stage/copy/copy_testing.h"
#include "stage/copy/sign_file.h"
#include "stage/copy/work_directory.h"

namespace belay::stage {
namespace {

using copy_testing::CopyCase;
using testing::ElementsAre;
using testing::IsEmpty;
using Tree = std::map<std::string, std::string>;

Cleaned cleaned(const CopyCase& data) {
    const auto cleaned = clean_copy(data.destination());
    EXPECT_TRUE(cleaned) << cleaned.error().message();
    return cleaned.value_or(Cleaned{});
}

// As cp -rp does.
void put_there_otherwise(const CopyCase& data) {
    std::filesystem::create_directories(data.destination().parent_path());
    std::filesystem::copy(data.source(), data.destination(), std::filesystem::copy_options::recursive);
    for (const auto& [path, content] : data.wanted())
        std::filesystem::last_write_time(data.destination() / path,
                                         std::filesystem::last_write_time(data.source() / path));
}

TEST(stage_copy_clean, a_copy_goes_and_its_directory_with_it) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    const Cleaned done = cleaned(data);
    EXPECT_EQ(done.files, data.wanted().size());
    EXPECT_EQ(done.bytes, data.source_bytes());
    EXPECT_EQ(done.kept_count, 0U);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

TEST(stage_copy_clean, directories_around_it_that_it_made_go_too_when_they_are_empty) {
    CopyCase data;
    data.some_files();
    const auto around = data.destination().parent_path();
    const auto outer = around / "job", copy = outer / "a/data";
    std::filesystem::create_directories(around);
    ASSERT_TRUE(copy_here(data.source(), copy, {}));
    ASSERT_TRUE(clean_copy(copy));
    EXPECT_FALSE(std::filesystem::exists(outer));
    EXPECT_TRUE(std::filesystem::exists(around));

    ASSERT_TRUE(copy_here(data.source(), copy, {}));
    std::ofstream(outer / "mine") << "mine";
    ASSERT_TRUE(clean_copy(copy));
    EXPECT_FALSE(std::filesystem::exists(outer / "a"));
    EXPECT_TRUE(std::filesystem::exists(outer / "mine"));
}

TEST(stage_copy_clean, what_others_wrote_stays) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    std::ofstream(data.destination() / "class1/result.txt") << "mine";
    std::ofstream(data.destination() / "class2/002.jpg") << "changed";
    EXPECT_THAT(cleaned(data).kept, ElementsAre("class2/002.jpg"));
    EXPECT_EQ(data.copied(), (Tree{{"class1/result.txt", "mine"}, {"class2/002.jpg", "changed"}}));
}

TEST(stage_copy_clean, what_lay_there_before_the_copy_stays) {
    CopyCase data;
    data.some_files();
    put_there_otherwise(data);
    ASSERT_TRUE(data.here());
    ASSERT_TRUE(data.here()) << "and again";
    EXPECT_EQ(cleaned(data).files, 0U);
    EXPECT_EQ(data.copied(), data.wanted());
}

TEST(stage_copy_clean, of_a_directory_only_what_the_copy_brought_goes) {
    CopyCase data;
    data.some_files();
    put_there_otherwise(data);
    std::filesystem::remove_all(data.destination() / "class1");
    std::filesystem::remove(data.destination() / "class2/002.jpg");
    ASSERT_TRUE(data.here());
    EXPECT_EQ(data.copied(), data.wanted());
    Tree expected = data.wanted();
    const size_t before = expected.size();
    std::erase_if(expected, [](const auto& file) {
        return file.first.starts_with("class1/") || file.first == "class2/002.jpg";
    });
    EXPECT_EQ(cleaned(data).files, before - expected.size());
    EXPECT_EQ(data.copied(), expected);
    EXPECT_FALSE(std::filesystem::exists(data.destination() / "class1"));
}

TEST(stage_copy_clean, directories_that_were_there_stay) {
    CopyCase data;
    data.some_files();
    std::filesystem::create_directories(data.destination() / "class1");
    ASSERT_TRUE(data.here());
    cleaned(data);
    EXPECT_TRUE(std::filesystem::is_empty(data.destination() / "class1"));
    EXPECT_FALSE(std::filesystem::exists(data.destination() / "class2"));
}

TEST(stage_copy_clean, what_several_copies_brought_goes) {
    CopyCase data;
    data.file("a", "content");
    ASSERT_TRUE(data.here());
    data.file("b/c", "more");
    ASSERT_TRUE(data.here()) << "of a source that has grown";
    ASSERT_TRUE(data.here()) << "and again";
    EXPECT_EQ(cleaned(data).files, 2U);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

// With the same size and time, and even the same inode, as file systems give it to the next file.
TEST(stage_copy_clean, another_file_in_the_place_of_one_that_was_copied_stays) {
    CopyCase data;
    data.file("a", "content");
    ASSERT_TRUE(data.here());
    const auto put = [&] {
        std::filesystem::remove(data.destination() / "a");
        std::filesystem::copy_file(data.source() / "a", data.destination() / "a");
        std::filesystem::last_write_time(data.destination() / "a",
                                         std::filesystem::last_write_time(data.source() / "a"));
    };
    put();
    EXPECT_THAT(cleaned(data).kept, ElementsAre("a"));
    EXPECT_EQ(data.copied(), data.wanted());
}

// Also where the link was put there since, or the directory is another one's by another name.
TEST(stage_copy_clean, nothing_behind_a_link_or_a_mount_goes) {
    CopyCase data;
    data.file("class1/a", "content");
    ASSERT_TRUE(data.here());
    std::filesystem::rename(data.destination() / "class1", data.destination() / "moved");
    std::filesystem::create_directory_symlink(data.source() / "class1", data.destination() / "class1");
    EXPECT_EQ(cleaned(data).files, 0U);
    std::filesystem::remove(data.destination() / "class1");
    std::filesystem::create_directory(data.destination() / "class1");
    core::expect_in_mounts([&](const core::Bind& bind) {
        bind(data.source() / "class1", data.destination() / "class1");
        EXPECT_EQ(cleaned(data).files, 0U);
    });
    EXPECT_EQ(data.wanted(), (Tree{{"class1/a", "content"}}));
    EXPECT_EQ(data.copied(), (Tree{{"moved/a", "content"}}));
}

TEST(stage_copy_clean, nothing_that_is_mounted_in_the_place_of_parts_goes) {
    CopyCase data;
    data.file("a", "content");
    ASSERT_TRUE(data.here());
    const std::filesystem::path parts = data.destination() / work_name("", core::sha256("a plan"));
    std::filesystem::create_directory(parts);
    core::expect_in_mounts([&](const core::Bind& bind) {
        bind(data.source(), parts);
        EXPECT_FALSE(clean_copy(data.destination()));
        data.file("b", "another plan");
        EXPECT_FALSE(data.here());
    });
    EXPECT_EQ(data.wanted(), (Tree{{"a", "content"}, {"b", "another plan"}}));
}

// A program that copies all files of a directory takes along what says that they were copied there.
TEST(stage_copy_clean, a_sign_that_was_copied_along_means_nothing) {
    CopyCase data;
    data.file("a", "content");
    ASSERT_TRUE(data.here());
    std::filesystem::create_directories(data.destination(1).parent_path());
    std::filesystem::copy(data.destination(), data.destination(1), std::filesystem::copy_options::recursive);
    std::filesystem::last_write_time(data.destination(1) / "a",
                                     std::filesystem::last_write_time(data.source() / "a"));
    const auto refused = clean_copy(data.destination(1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(data.copied(1), data.wanted());
    const auto report = copy_here(data.source(), data.destination(1), data.options);
    ASSERT_TRUE(report) << report.error().message();
    const auto done = clean_copy(data.destination(1));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->files, 0U);
    EXPECT_EQ(data.copied(1), data.wanted());
}

// As an earlier version could have left it, which did not compare directories.
TEST(stage_copy_clean, the_source_stays_when_the_destination_becomes_another_name_of_it) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    core::expect_in_mounts([&](const core::Bind& bind) {
        std::filesystem::copy_file(data.destination() / kCopyPrefix, data.source() / kCopyPrefix);
        bind(data.source(), data.destination());
        EXPECT_FALSE(clean_copy(data.destination()));
        std::filesystem::remove(data.source() / kCopyPrefix);
    });
    EXPECT_GT(data.wanted().size(), 90U);
}

TEST(stage_copy_clean, a_directory_without_a_copy_is_not_touched) {
    CopyCase data;
    data.some_files();
    const auto refused = clean_copy(data.source());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_FALSE(data.wanted().empty());
}

TEST(stage_copy_clean, parts_of_an_unfinished_copy_go) {
    CopyCase data;
    data.some_files();
    auto process = core::Work::start({.what = "a copy"}, [&]() -> core::Result<std::string> {
                       data.options.faults.stored = CopyCase::die_at(20, data.destination());
                       BELAY_CHECK(data.here());
                       return "whole";
                   }).value();
    ASSERT_FALSE(process.finish(core::Deadline::after(std::chrono::seconds(60))));
    EXPECT_TRUE(cleaned(data).unfinished);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

// It ended between the first name and the last: because one was taken.
TEST(stage_copy_clean, of_a_copy_that_ended_while_it_gave_names_its_own_go) {
    for (const bool is_given_again : {false, true}) {
        CopyCase data;
        data.file("a", "content");
        data.file("b/c", "content");
        data.options.faults.stored = [&](uint64_t) {
            std::filesystem::create_directory(data.destination() / "b");
            std::ofstream(data.destination() / "b/c") << "theirs";
        };
        ASSERT_FALSE(data.here());
        ASSERT_EQ(data.copied(), (Tree{{"a", "content"}, {"b/c", "theirs"}}));
        if (is_given_again) {
            std::filesystem::remove(data.destination() / "b/c");
            data.options.faults = {};
            ASSERT_TRUE(data.here());
        }
        const Cleaned done = cleaned(data);
        EXPECT_EQ(done.files, is_given_again ? 2U : 1U);
        EXPECT_EQ(data.copied(), is_given_again ? Tree{} : (Tree{{"b/c", "theirs"}}));
        EXPECT_EQ(done.unfinished, !is_given_again);
    }
}

// The source has changed since: what the first copy brought is still known by the next.
TEST(stage_copy_clean, what_an_unfinished_copy_brought_is_not_forgotten_by_another) {
    CopyCase data;
    data.file("a", "content");
    data.file("b", "content");
    data.options.faults.stored = [&](uint64_t) { std::ofstream(data.destination() / "b") << "theirs"; };
    ASSERT_FALSE(data.here());
    std::filesystem::remove(data.destination() / "b");
    data.options.faults = {};
    data.file("c", "more");
    const auto report = data.here();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(cleaned(data).files, 3U);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

TEST(stage_copy_clean, a_copy_that_is_being_made_is_not_taken_away) {
    CopyCase data;
    data.some_files();
    std::optional<core::Error> refused;
    std::once_flag once;
    data.options.faults.stored = [&](uint64_t) {
        std::call_once(once, [&] {
            if (const auto done = clean_copy(data.destination()); !done) refused = done.error();
        });
    };
    ASSERT_TRUE(data.here());
    ASSERT_TRUE(refused);
    EXPECT_EQ(data.copied(), data.wanted());
    EXPECT_THAT(copy_testing::work_directories(data.destination()), IsEmpty());
}

}  // namespace
}  // namespace belay::stage
