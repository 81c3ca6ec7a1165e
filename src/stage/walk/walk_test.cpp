#include "stage/walk/walk.h"

#include "core/file.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

// A directory to walk, and what a walk of it saw.
class Tree {
  public:
    const fs::path& path() const { return directory_.path(); }
    void file(const std::string& name, const std::string& content = "x") const {
        fs::create_directories((path() / name).parent_path());
        std::ofstream(path() / name) << content;
    }
    core::Directory root() const { return core::Directory::open(path()).value(); }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

struct Seen {
    std::map<std::string, Entry> entries;  // by path
    std::map<std::string, uint64_t> directory_entries;
    WalkReport report;
};

Seen walked(const Tree& tree, size_t threads = 3) {
    Seen seen;
    std::mutex mutex;
    auto report = walk(tree.root(), {.threads = threads}, [&](size_t thread, const Listing& listing) {
        const std::lock_guard lock(mutex);
        EXPECT_LT(thread, threads);
        for (const Entry& entry : listing.entries) {
            const std::string path = listing.path_of(entry.name);
            EXPECT_TRUE(seen.entries.emplace(path, entry).second) << path << " came twice";
        }
        if (listing.directory_entries) {
            EXPECT_TRUE(seen.directory_entries.emplace(listing.path, *listing.directory_entries).second);
        }
    });
    EXPECT_TRUE(report) << report.error().render();
    if (report) seen.report = *report;
    return seen;
}

std::vector<std::string> names(const Seen& seen) {
    std::vector<std::string> names;
    for (const auto& [path, entry] : seen.entries) names.push_back(path);
    return names;
}

TEST(stage_walk, everything_comes_once) {
    Tree tree;
    tree.file("a");
    tree.file("b/c", "four");
    tree.file("b/d/e");
    fs::create_symlink("/etc", tree.path() / "link");
    fs::permissions(tree.path() / "b/c", fs::perms(0640));
    const Seen seen = walked(tree);
    EXPECT_THAT(names(seen), ElementsAre("a", "b", "b/c", "b/d", "b/d/e", "link"));
    EXPECT_EQ(seen.entries.at("b/c").bytes, 4u);
    EXPECT_EQ(seen.entries.at("b/c").user, getuid());
    EXPECT_EQ(seen.entries.at("b/c").mode, 0640u);
    EXPECT_EQ(seen.entries.at("link").type, core::FileType::kLink);
    EXPECT_THAT(seen.directory_entries, UnorderedElementsAre(Pair("", 3), Pair("b", 2), Pair("b/d", 1)));
    EXPECT_EQ(seen.report.directories, 3u);
    EXPECT_EQ(seen.report.problem_count, 0u);
}

TEST(stage_walk, a_large_directory_is_shared_and_none_is_lost) {
    Tree tree;
    constexpr int kFiles = 3000;
    for (int i = 0; i < kFiles; ++i) tree.file("all/" + std::to_string(i), "");
    for (int i = 0; i < 300; ++i) tree.file(std::to_string(i) + "/one", "");
    const Seen seen = walked(tree, 4);
    EXPECT_EQ(seen.entries.size(), kFiles + 1u + 600u);
    EXPECT_EQ(seen.directory_entries.at("all"), static_cast<uint64_t>(kFiles));
    EXPECT_EQ(seen.directory_entries.size(), 302u);
}

TEST(stage_walk, names_may_be_any_bytes) {
    Tree tree;
    for (const char* name : {"new\nline", "tab\t", " ", "\xff\xfe", "-rf", "\\"}) tree.file(name);
    EXPECT_THAT(names(walked(tree)),
                UnorderedElementsAre("new\nline", "tab\t", " ", "\xff\xfe", "-rf", "\\"));
}

TEST(stage_walk, an_empty_directory_has_no_entries) {
    const Seen seen = walked(Tree());
    EXPECT_THAT(seen.entries, ElementsAre());
    EXPECT_THAT(seen.directory_entries, ElementsAre(Pair("", 0)));
}

// mkdir -p takes no path of that length, and the kernel none in one piece.
TEST(stage_walk, a_path_may_be_longer_than_the_kernel_takes) {
    Tree tree;
    const std::string part(200, 'p');
    core::Descriptor at(::open(tree.path().c_str(), O_DIRECTORY | O_CLOEXEC));
    constexpr int kDepth = 60;
    for (int i = 0; i < kDepth; ++i) {
        ASSERT_EQ(mkdirat(at.get(), part.c_str(), 0700), 0);
        at = core::Descriptor(openat(at.get(), part.c_str(), O_DIRECTORY | O_CLOEXEC));
    }
    core::Descriptor(openat(at.get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const Seen seen = walked(tree);
    EXPECT_EQ(seen.entries.size(), kDepth + 1u);
    EXPECT_EQ(seen.entries.rbegin()->second.name, "file");
    EXPECT_EQ(seen.report.problem_count, 0u);
}

TEST(stage_walk, a_tree_of_many_levels_is_read_to_its_end) {
    Tree tree;
    core::Descriptor at(::open(tree.path().c_str(), O_DIRECTORY | O_CLOEXEC));
    constexpr int kDepth = 1000;
    for (int i = 0; i < kDepth; ++i) {
        for (const char* name : {"a", "b"}) ASSERT_EQ(mkdirat(at.get(), name, 0700), 0);
        core::Descriptor(openat(at.get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        at = core::Descriptor(openat(at.get(), i % 3 == 0 ? "a" : "b", O_DIRECTORY | O_CLOEXEC));
    }
    const Seen seen = walked(tree);
    EXPECT_EQ(seen.entries.size(), 3u * kDepth);
    EXPECT_EQ(seen.report.directories, 1u + 2 * kDepth);
    EXPECT_EQ(seen.report.problem_count, 0u);
}

TEST(stage_walk, where_paths_grow_without_end_the_walk_says_so) {
    Tree tree;
    const std::string part(250, 'p');
    core::Descriptor at(::open(tree.path().c_str(), O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(mkdirat(at.get(), part.c_str(), 0700), 0);
        at = core::Descriptor(openat(at.get(), part.c_str(), O_DIRECTORY | O_CLOEXEC));
    }
    tree.file("other/x");
    const Seen seen = walked(tree);
    ASSERT_EQ(seen.report.problem_count, 1u);
    EXPECT_EQ(seen.report.problems.front().errno_value, ENAMETOOLONG);
    EXPECT_TRUE(seen.entries.contains("other/x"));
}

TEST(stage_walk, what_cannot_be_read_is_told_and_hides_nothing_else) {
    if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
    Tree tree;
    tree.file("closed/x");
    tree.file("open/y");
    fs::permissions(tree.path() / "closed", fs::perms::none);
    const Seen seen = walked(tree);
    fs::permissions(tree.path() / "closed", fs::perms::owner_all);
    EXPECT_THAT(names(seen), ElementsAre("closed", "open", "open/y"));
    EXPECT_THAT(seen.report.problems, ElementsAre(WalkProblem{"closed", EACCES}));
}

TEST(stage_walk, other_file_systems_are_not_entered) {
    const auto root = core::Directory::open("/").value();
    std::mutex mutex;
    bool in_proc = false;
    std::atomic<bool> stop = false;
    auto report = walk(root, {.threads = 2, .stop = &stop}, [&](size_t, const Listing& listing) {
        const std::lock_guard lock(mutex);
        if (listing.path.starts_with("proc")) in_proc = true;
        if (listing.path == "" && listing.directory_entries) stop = true;
    });
    EXPECT_FALSE(in_proc);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().cause(), core::Cause::kCancelled);
}

// Of the same file system, which by its device is no other.
TEST(stage_walk, what_is_mounted_again_is_not_entered_where_that_is_wanted) {
    Tree tree;
    Tree elsewhere;
    tree.file("mounted/hidden");
    tree.file("file");
    elsewhere.file("other");
    elsewhere.file("secret");
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            _exit(9);
        auto bind = [](const fs::path& from, const fs::path& to) {
            if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(9);
        };
        bind(elsewhere.path(), tree.path() / "mounted");
        bind(elsewhere.path() / "other", tree.path() / "file");
        for (const bool stays : {false, true}) {
            std::atomic<int> files = 0;
            const auto report = walk(tree.root(), {.stays_on_mount = stays}, [&](size_t, const Listing& all) {
                for (const Entry& entry : all.entries) files += entry.type == core::FileType::kRegular;
            });
            if (!report) _exit(1);
            if (files != (stays ? 0 : 3) || report->other_file_systems != (stays ? 2U : 0U)) _exit(2);
        }
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9) GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(stage_walk, says_how_far_it_is) {
    Tree tree;
    for (int i = 0; i < 100; ++i) tree.file(std::to_string(i % 7) + "/" + std::to_string(i));
    std::vector<uint64_t> told;
    ASSERT_TRUE(walk(tree.root(),
                     {.threads = 4, .progress = [&](uint64_t looked) { told.push_back(looked); }},
                     [](size_t, const Listing&) {}));
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_GT(told.front(), 0U);
    EXPECT_LE(told.back(), 107U);
}

TEST(stage_walk, a_look_at_a_directory_or_at_what_a_server_knows) {
    Tree tree;
    tree.file("d/x");
    const auto root = tree.root();
    EXPECT_EQ(look_at(root.fd(), "").entry.type, core::FileType::kDirectory);
    for (const bool asks_server : {false, true}) {
        const Look seen = look_at(root.fd(), "d", asks_server);
        EXPECT_EQ(seen.errno_value, 0);
        EXPECT_EQ(seen.entry.inode, look_at(root.enter("d")->fd(), "").entry.inode);
        EXPECT_TRUE(seen.place.is_mount_of(*place_of(root.fd())));
    }
    EXPECT_EQ(look_at(root.fd(), "nothing").errno_value, ENOENT);
    EXPECT_FALSE((MountPlace{.device = 1, .mount = 2}).is_mount_of({.device = 1, .mount = 3}));
    EXPECT_FALSE((MountPlace{.device = 1}).is_mount_of({.device = 2}));
}

TEST(stage_walk, a_visitor_that_throws_ends_the_walk) {
    Tree tree;
    for (int i = 0; i < 50; ++i) tree.file(std::to_string(i) + "/x");
    auto report = walk(tree.root(), {.threads = 3}, [](size_t, const Listing& listing) {
        if (listing.path == "7") throw std::runtime_error("no");
    });
    EXPECT_FALSE(report);
}

// Somebody replaces directories by links to elsewhere while the walk goes on: nothing from there is ever
// seen.
TEST(stage_walk, a_link_that_takes_the_place_of_a_directory_is_not_followed) {
    Tree tree;
    Tree elsewhere;
    elsewhere.file("secret");
    tree.file("d/x");
    std::atomic<bool> done = false;
    std::jthread attacker([&] {
        while (!done) {
            fs::rename(tree.path() / "d", tree.path() / "kept");
            fs::create_directory_symlink(elsewhere.path(), tree.path() / "d");
            fs::remove(tree.path() / "d");
            fs::rename(tree.path() / "kept", tree.path() / "d");
        }
    });
    std::mutex mutex;
    for (int round = 0; round < 200; ++round)
        (void)walk(tree.root(), {.threads = 2}, [&](size_t, const Listing& listing) {
            const std::lock_guard lock(mutex);
            for (const Entry& entry : listing.entries) EXPECT_NE(entry.name, "secret");
        });
    done = true;
}

}  // namespace
}  // namespace belay::stage
