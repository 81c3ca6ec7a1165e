#include "stage/retention/purge_list.h"

#include "core/file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::HasSubstr;

const std::string kKey = "0123456789abcdef";

TEST(stage_retention_list, any_name_survives) {
    std::string all;
    for (int byte = 1; byte < 256; ++byte)
        if (byte != '/') all += static_cast<char>(byte);
    for (const std::string& path :
         {all, std::string("a b/line\nfeed"), std::string("gr\xc3\xbc\xc3\x9f"), std::string("\xff\xfe"),
          std::string("back\\slash\\n"), std::string(" lead")}) {
        EXPECT_EQ(unescape_path(escape_path(path)).value(), path);
        EXPECT_EQ(escape_path(path).find('\n'), std::string::npos);
    }
    EXPECT_EQ(escape_path("a\nb\xff"), "a\\nb\\xff");
    for (const char* text : {"\\", "\\x", "\\x1", "\\xzz", "\\x00", "\\x2f", "\\q"})
        EXPECT_FALSE(unescape_path(text)) << text;
    EXPECT_FALSE(unescape_path(std::string_view("a\0b", 3))) << "no path has a NUL";
}

PurgeList some_list() {
    PurgeList list{.root = "/scratch/a b",
                   .made = core::parse_time("2026-03-01T12:00:00.123456Z").value(),
                   .time = RetentionTime::kLatest,
                   .days = 30.5};
    list.entries.push_back(
        {.path = "x\ny/\xff", .inode = ~uint64_t{0}, .user = 1000, .times = {-5, 6, 7}, .bytes = 8});
    list.entries.push_back(
        {.path = "z", .inode = 2, .user = 0, .times = {1, 2, 3}, .bytes = 0, .pressed = true});
    list.ask_share = 0.6;
    list.spare_days = 7.5;
    return list;
}

TEST(stage_retention_list, comes_back_as_it_was) {
    const PurgeList list = some_list();
    const PurgeList read = read_signed_list(sign_list(list, kKey), kKey, "l").value();
    EXPECT_EQ(read.root, list.root);
    EXPECT_EQ(read.made, list.made);
    EXPECT_EQ(read.time, list.time);
    EXPECT_EQ(read.days, list.days);
    EXPECT_EQ(read.ask_share, 0.6);
    EXPECT_EQ(read.spare_days, 7.5);
    EXPECT_EQ(read.entries, list.entries);
}

TEST(stage_retention_list, any_change_is_seen) {
    const std::string text = sign_list(some_list(), kKey);
    for (size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = changed[at] == '1' ? '2' : '1';
        EXPECT_FALSE(read_signed_list(changed, kKey, "l")) << at;
    }
    for (size_t end = 0; end < text.size(); ++end)
        EXPECT_FALSE(read_signed_list(text.substr(0, end), kKey, "l")) << end;
    EXPECT_FALSE(read_signed_list(text + "\n", kKey, "l"));
    EXPECT_THAT(read_signed_list(text, "another key of 16", "l").error().message(),
                HasSubstr("signature does not match"));
}

TEST(stage_retention_list, a_signed_path_cannot_leave_the_root) {
    for (const char* path : {"../x", "/etc/passwd", "a/../b", "", "a//b"}) {
        PurgeList list = some_list();
        list.entries[0].path = path;
        EXPECT_FALSE(read_signed_list(sign_list(list, kKey), kKey, "l")) << path;
    }
}

// Which tree a relative one is depends on who deletes.
TEST(stage_retention_list, a_root_that_is_not_absolute_is_refused) {
    for (const char* root : {"scratch", "./scratch", "../scratch"}) {
        PurgeList list = some_list();
        list.root = root;
        EXPECT_THAT(read_signed_list(sign_list(list, kKey), kKey, "l").error().message(),
                    HasSubstr("is not an absolute path"))
            << root;
    }
}

TEST(stage_retention_list, a_key_that_others_can_read_is_refused) {
    const auto directory = core::TemporaryDirectory::create().value();
    const std::filesystem::path file = directory.path() / "key";
    std::ofstream(file) << kKey;
    std::filesystem::permissions(file,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::group_read);
    EXPECT_THAT(read_key(file).error().message(), HasSubstr("can be read or written by others"));
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    EXPECT_EQ(read_key(file).value(), kKey);
    std::filesystem::permissions(file,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::ofstream(file) << "short";
    EXPECT_THAT(read_key(file).error().message(), HasSubstr("holds 5 bytes"));
}

}  // namespace
}  // namespace belay::stage
