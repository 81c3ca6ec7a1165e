#include "bench/train/staging.h"

#include "core/file.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::atomic<bool> kGoesOn = false;

TEST(bench, staging_copies_every_file_once_over_the_ranks_of_a_node) {
    const auto directory = *core::TemporaryDirectory::create();
    const fs::path from = directory.path() / "from", to = directory.path() / "to";
    for (const char* split : {"train", "eval/deep"}) ASSERT_TRUE(core::make_directories(from / split));
    for (const char* name : {"train/a", "train/b", "eval/deep/c", "d", "empty"})
        ASSERT_TRUE(
            core::replace_file(from / name, name == std::string("empty") ? "" : std::string(100, *name)));
    ASSERT_TRUE(core::make_directories(to));
    ASSERT_TRUE(core::replace_file(to / "d", "what was there before, and longer than what comes"));
    Staged all;
    for (int part = 0; part < 2; ++part) {
        auto staged = stage_files(from, to, {}, {.number = part, .ranks = 2}, kGoesOn);
        ASSERT_TRUE(staged) << staged.error().message();
        EXPECT_GE(staged->files, 2u);
        all.files += staged->files;
        all.bytes += staged->bytes;
    }
    EXPECT_EQ(all.files, 5u);
    EXPECT_EQ(all.bytes, 400u);
    for (const char* name : {"train/a", "train/b", "eval/deep/c", "d", "empty"})
        EXPECT_EQ(*core::read_file(to / name), *core::read_file(from / name)) << name;
    EXPECT_EQ(stage_files(from, directory.path() / "some", {"d"}, {}, kGoesOn)->files, 1u);
}

TEST(bench, staging_refuses_what_it_cannot_do) {
    const auto directory = *core::TemporaryDirectory::create();
    ASSERT_TRUE(core::make_directories(directory.path() / "data"));
    auto within = stage_files(directory.path() / "data", directory.path() / "data/copy", {}, {}, kGoesOn);
    ASSERT_FALSE(within);
    EXPECT_THAT(within.error().message(), HasSubstr("are within one another"));
    EXPECT_EQ(stage_files(directory.path() / "data", directory.path(), {}, {}, kGoesOn).error().exit_status(),
              2);
    EXPECT_FALSE(stage_files(directory.path() / "none", directory.path() / "to", {}, {}, kGoesOn));
    auto missing = stage_files(directory.path() / "data", directory.path() / "to", {"x"}, {}, kGoesOn);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().cause(), core::Cause::kNotFound);
    const std::atomic<bool> stopped = true;
    ASSERT_TRUE(core::replace_file(directory.path() / "data/x", "1"));
    auto ended = stage_files(directory.path() / "data", directory.path() / "to", {"x"}, {}, stopped);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().cause(), core::Cause::kCancelled);
}

TEST(bench, staging_makes_files_of_this_user_alone_and_follows_no_link) {
    const auto directory = *core::TemporaryDirectory::create();
    const fs::path from = directory.path() / "from", to = directory.path() / "to",
                   precious = directory.path() / "precious";
    ASSERT_TRUE(core::make_directories(from / "train"));
    ASSERT_TRUE(core::replace_file(from / "train/a", "new"));
    ASSERT_TRUE(core::replace_file(precious, "old"));
    ASSERT_TRUE(core::make_directories(to / "train"));
    fs::create_symlink(precious, to / "train/a");
    ASSERT_TRUE(stage_files(from, to, {}, {}, kGoesOn));
    EXPECT_EQ(*core::read_file(precious), "old");
    EXPECT_EQ(*core::read_file(to / "train/a"), "new");
    EXPECT_EQ(fs::status(to / "train/a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    fs::remove_all(to / "train");
    fs::create_directory(directory.path() / "elsewhere");
    fs::create_symlink(directory.path() / "elsewhere", to / "train");
    EXPECT_FALSE(stage_files(from, to, {}, {}, kGoesOn)) << "a link on the way";
    EXPECT_TRUE(fs::is_empty(directory.path() / "elsewhere"));
}

}  // namespace
}  // namespace belay::bench
