#include "stage/retention/purge.h"

#include "core/file.h"
#include "stage/retention/survey.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kStrange = "strange\n\xff name";

// Files that were last read and written on 1 January 2020.
class OldTree {
  public:
    OldTree() {
        for (const std::string& name :
             {std::string("a/one"), std::string("a/two"), std::string("b/c/three"), std::string(kStrange)})
            file(name);
    }
    const fs::path& path() const { return directory_.path(); }
    void file(const std::string& name, const std::string& content = "old") const {
        fs::create_directories((path() / name).parent_path());
        std::ofstream(path() / name) << content;
        age(name);
    }
    void age(const std::string& name) const {
        const timespec times[2] = {{1577836800, 5}, {1577836800, 7}};
        ASSERT_EQ(utimensat(AT_FDCWD, (path() / name).c_str(), times, 0), 0);
    }
    Survey survey(const RetentionPolicy& policy = {.days = 30}) const {
        return stage::survey(path(), policy, {.threads = 2, .now = core::system_clock().now()}).value();
    }
    std::vector<std::string> left() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(path()))
            if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), path()).string());
        std::ranges::sort(names);
        return names;
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

// As the commands do it: through the text of a signed list.
PurgeReport purged(const PurgeList& list, const PurgeOptions& options = {}) {
    const std::string key(32, 'k');
    return purge(read_signed_list(sign_list(list, key), key, "list").value(), options).value();
}

std::vector<std::string> kept(const PurgeReport& report) {
    std::vector<std::string> lines;
    for (const KeptFile& file : report.kept) lines.push_back(file.path + ": " + file.why);
    return lines;
}

TEST(stage_retention_purge, what_is_old_goes_and_directories_stay) {
    const OldTree tree;
    std::ofstream(tree.path() / "a/young") << "new";
    const Survey survey = tree.survey();
    ASSERT_EQ(survey.list.entries.size(), 4u);
    EXPECT_EQ(survey.list.root, fs::canonical(tree.path()).string());
    const PurgeReport report = purged(survey.list);
    EXPECT_EQ(report.deleted_files, 4u);
    EXPECT_EQ(report.deleted_bytes, 12u);
    EXPECT_THAT(report.kept, IsEmpty());
    EXPECT_THAT(tree.left(), ElementsAre("a/young"));
    EXPECT_TRUE(fs::is_directory(tree.path() / "b/c"));
}

TEST(stage_retention_purge, a_dry_run_deletes_nothing) {
    const OldTree tree;
    EXPECT_EQ(purged(tree.survey().list, {.dry_run = true}).deleted_files, 4u);
    EXPECT_EQ(tree.left().size(), 4u);
}

TEST(stage_retention_purge, what_changed_is_kept_and_named) {
    const OldTree tree;
    const Survey survey = tree.survey();
    std::ofstream(tree.path() / "a/one", std::ios::app) << "more";
    fs::permissions(tree.path() / "a/two", fs::perms::owner_all);
    fs::remove(tree.path() / "b/c/three");
    const PurgeReport report = purged(survey.list);
    EXPECT_EQ(report.deleted_files, 1u);
    EXPECT_EQ(report.gone, 1u);
    EXPECT_THAT(kept(report), ElementsAre("a/one: was written since",
                                          "a/two: its name, owner or permissions changed since"));
    EXPECT_THAT(tree.left(), ElementsAre("a/one", "a/two"));
}

TEST(stage_retention_purge, younger_files_go_only_while_it_is_too_full) {
    const OldTree tree;
    PurgeList list = tree.survey().list;
    for (PurgeEntry& entry : list.entries) entry.pressed = true;
    list.ask_share = 1;
    const PurgeReport none = purged(list);
    EXPECT_EQ(none.deleted_files, 0u);
    EXPECT_THAT(kept(none)[0], HasSubstr("is not due, and the file system is no fuller than asked"));
    list.ask_share = 0;
    EXPECT_EQ(purged(list).deleted_files, 4u);
}

TEST(stage_retention_purge, what_is_not_old_enough_is_kept_whatever_the_list_says) {
    const OldTree tree;
    PurgeList list = tree.survey().list;
    // As if the clock of the machine that signed it had gone wrong, or this one's had.
    list.made = core::parse_time("2020-01-20T00:00:00Z").value();
    const PurgeReport report = purged(list);
    EXPECT_EQ(report.deleted_files, 0u);
    EXPECT_THAT(kept(report)[0], HasSubstr("is not 30 days old"));
    for (PurgeEntry& entry : list.entries) entry.pressed = true;
    list.spare_days = 20;
    EXPECT_THAT(kept(purged(list))[0], HasSubstr("is not 20 days old"));
    list.spare_days = 19;
    EXPECT_EQ(purged(list, {.dry_run = true}).deleted_files, 4u);
    for (PurgeEntry& entry : list.entries) entry.times = {};
    EXPECT_THAT(kept(purged(list))[0], HasSubstr("is not 19 days old")) << "a time that is not known";
    EXPECT_EQ(tree.left().size(), 4u);
}

TEST(stage_retention_purge, a_list_from_the_future_is_refused) {
    const OldTree tree;
    const PurgeList list = tree.survey().list;
    const auto refused = purge(list, {.now = list.made - std::chrono::hours(2)});
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("clock"));
    EXPECT_TRUE(purge(list, {.dry_run = true, .now = list.made - std::chrono::minutes(30)}));
    EXPECT_EQ(tree.left().size(), 4u);
}

TEST(stage_retention_purge, a_root_that_has_gone_is_the_persons_mistake) {
    EXPECT_EQ(purge({.root = "/nothing/of/this/name"}, {}).error().kind(), core::ErrorKind::kBadInput);
}

TEST(stage_retention_purge, all_names_of_a_file_go) {
    const OldTree tree;
    fs::create_hard_link(tree.path() / "a/one", tree.path() / "a/one-again");
    tree.age("a/one");
    const PurgeReport report = purged(tree.survey().list);
    EXPECT_EQ(report.deleted_files, 5u);
    EXPECT_THAT(report.kept, IsEmpty());
}

TEST(stage_retention_purge, a_file_in_the_place_of_another_is_kept) {
    const OldTree tree;
    const Survey survey = tree.survey();
    tree.file("a/other");
    fs::rename(tree.path() / "a/other", tree.path() / "a/one");
    EXPECT_THAT(kept(purged(survey.list)), ElementsAre("a/one: is another file of that name"));
}

TEST(stage_retention_purge, a_file_that_was_read_is_kept) {
    const OldTree tree;
    const Survey survey = tree.survey();
    const timespec times[2] = {{1700000000, 0}, {0, UTIME_OMIT}};
    ASSERT_EQ(utimensat(AT_FDCWD, (tree.path() / "a/one").c_str(), times, 0), 0);
    EXPECT_THAT(kept(purged(survey.list)), ElementsAre("a/one: was read since"));
}

TEST(stage_retention_purge, why_a_file_is_kept) {
    const PurgeEntry listed{.path = "x", .inode = 1, .user = 2, .times = {3, 4, 5}, .bytes = 6};
    EXPECT_EQ(why_kept(listed, listed), "");
    PurgeEntry found = listed;
    found.user = 3;
    EXPECT_EQ(why_kept(listed, found), "belongs to another user");
    found = listed;
    found.bytes = 7;
    EXPECT_EQ(why_kept(listed, found), "was written since");
}

TEST(stage_retention_purge, no_link_is_followed) {
    const OldTree tree;
    const OldTree other;
    Survey survey = tree.survey();
    fs::rename(tree.path() / "a", tree.path() / "moved");
    fs::create_directory_symlink(other.path() / "a", tree.path() / "a");
    fs::remove(tree.path() / "b/c/three");
    fs::create_symlink(other.path() / "b/c/three", tree.path() / "b/c/three");
    const PurgeReport report = purged(survey.list);
    EXPECT_EQ(report.deleted_files, 1u);
    ASSERT_EQ(report.kept.size(), 3u);
    EXPECT_THAT(report.kept[0].why, HasSubstr("symbolic link"));
    EXPECT_EQ(report.kept[2].why, "is not a regular file any more");
    EXPECT_EQ(other.left().size(), 4u);
}

TEST(stage_retention_purge, no_mount_is_crossed) {
    const OldTree tree;
    const OldTree other;
    const pid_t child = fork();
    if (child == 0) {
        // Its own mounts; the same file system is shown again beneath, with the same files.
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            _exit(9);
        const Survey survey = tree.survey();
        if (mount((tree.path() / "a").c_str(), (tree.path() / "a").c_str(), nullptr, MS_BIND, nullptr) != 0)
            _exit(9);
        const auto report = purge(survey.list, {});
        if (!report) _exit(1);
        if (report->deleted_files != 2 || report->kept.size() != 2) _exit(2);
        _exit(report->kept[0].why == "lies on another file system" ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9) GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_THAT(tree.left(), ElementsAre("a/one", "a/two"));
}

TEST(stage_retention_purge, a_stop_is_heard) {
    const OldTree tree;
    const std::atomic<bool> stop = true;
    EXPECT_EQ(purge(tree.survey().list, {.stop = &stop}).error().cause(), core::Cause::kCancelled);
    EXPECT_EQ(tree.left().size(), 4u);
}

}  // namespace
}  // namespace belay::stage
