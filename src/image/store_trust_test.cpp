// Stores that users share who need not believe each other. Most of it needs root, to be several users.
#include "image/store_trust.h"

#include "core/file.h"
#include "image/store.h"
#include "image/testing/store_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using namespace belay::image::testing;
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr uid_t kMallory = 65534;
constexpr uid_t kOwner = 65533;

struct SharedStore : StoreFixture {
    explicit SharedStore(mode_t mode, uid_t owner = geteuid()) {
        fs::create_directory(root);
        EXPECT_EQ(chown(root.c_str(), owner, owner), 0);
        EXPECT_EQ(chmod(root.c_str(), mode), 0);
        chmod(directory.path().c_str(), 0755);
    }
    void give(const fs::path& path, mode_t mode, uid_t user = kMallory) const {
        EXPECT_EQ(lchown(path.c_str(), user, user), 0);
        EXPECT_EQ(chmod(path.c_str(), mode), 0);
    }
    // Another image under this digest, in directories of `mode` that belong to `user`.
    void plant(const std::string& digest, mode_t mode, uid_t user) const {
        const StoreLayout layout{root};
        for (const fs::path& made : {layout.images(), layout.refs()}) {
            fs::create_directory(made);
            give(made, mode, user);
        }
        const std::string key = image_key(digest, host_platform());
        const std::string config =
            R"({"rootfs":{"type":"layers","diff_ids":[]},"config":{"Env":["PLANTED=1"]}})";
        EXPECT_TRUE(core::replace_file(layout.sidecar(key), sidecar_text(digest, config, {})));
        EXPECT_TRUE(core::replace_file(layout.image(key), "planted"));
        give(layout.sidecar(key), 0644);
        give(layout.image(key), 0644);
    }
    // Asked for by its digest, it is the one that was planted.
    void expect_planted(const std::string& digest) {
        auto found = store().find(reference("app@" + digest));
        ASSERT_TRUE(found && *found);
        EXPECT_THAT((*found)->config.environment, ::testing::ElementsAre("PLANTED=1"));
    }
    const fs::path root = directory.path() / "store";
};

TEST(image, store_takes_no_image_under_anothers_name) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kBase});
    auto other = f.registry.push("app", "2", {kTop});
    auto image = f.import("app:1");
    ASSERT_TRUE(image);
    const StoreLayout layout{f.directory.path() / "store"};
    const std::string from = image_key(pushed.digest, host_platform());
    const std::string to = image_key(other.digest, host_platform());
    fs::rename(layout.image(from), layout.image(to));
    fs::rename(layout.sidecar(from), layout.sidecar(to));
    EXPECT_EQ(*f.store().find(f.reference("app@" + other.digest)), std::nullopt);
    image = f.import("app@" + other.digest);
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(content(*image, "etc/os-release"), "ID=top\n");
}

TEST(image, store_believes_no_stranger) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    struct Case {
        mode_t directories;
        uid_t theirs;
        const char* imported_to;
    };
    for (const Case& row : {Case{01777, 0, "images/"}, Case{0755, kMallory, "user-0/images/"},
                            Case{0700, kMallory, "user-0/"}}) {
        SharedStore f(01777);
        auto pushed = f.registry.push("app", "1", {kTop});
        f.plant(pushed.digest, row.directories, row.theirs);
        const Reference pinned = f.reference("app@" + pushed.digest);
        EXPECT_EQ(*f.store().find(pinned), std::nullopt);
        EXPECT_TRUE(f.store().list()->images.empty());
        for (const char* name : {"app:1", "app:1"}) {
            auto image = f.import(name);
            ASSERT_TRUE(image) << image.error().render();
            EXPECT_EQ(content(*image, "etc/os-release"), "ID=top\n");
            EXPECT_THAT(image->squashfs.string(), ::testing::StartsWith((f.root / row.imported_to).string()));
        }
        ASSERT_TRUE(*f.store().find(pinned));
        EXPECT_EQ(f.store().list()->images.size(), 1u);
        EXPECT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
        EXPECT_EQ(*f.store().find(pinned), std::nullopt);
    }
}

TEST(image, store_believes_no_strangers_name) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    SharedStore f(01777);
    auto good = f.registry.push("app", "1", {kTop});
    auto bad = f.registry.push("app", "bad", {kBase});
    ASSERT_TRUE(f.import("app:1"));
    ASSERT_TRUE(f.import("app:bad"));
    f.give(f.root / "refs", 01777, 0);
    const StoreLayout layout{f.root};
    const Reference name = f.reference("app:1");
    const fs::path ref = layout.ref(name, host_platform());
    fs::copy_file(layout.ref(f.reference("app:bad"), host_platform()), ref,
                  fs::copy_options::overwrite_existing);
    f.give(ref, 0644);
    EXPECT_EQ(*f.store().find(name), std::nullopt);
    EXPECT_EQ(f.import("app:1")->digest, good.digest);
    EXPECT_EQ((*f.store().find(name))->digest, good.digest);
    // Nor is anything written through a link of theirs.
    const fs::path canary = f.directory.path() / "canary";
    ASSERT_TRUE(core::replace_file(canary, "alive"));
    fs::remove(ref);
    fs::create_symlink(canary, ref);
    ASSERT_EQ(lchown(ref.c_str(), kMallory, kMallory), 0);
    EXPECT_EQ(f.import("app:1")->digest, good.digest);
    EXPECT_EQ(*core::read_file(canary), "alive");
}

// Anybody may have moved a file of ours, or of root's, to this name.
TEST(image, store_that_everybody_writes_to_has_no_images_by_name_alone) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    SharedStore f(01777, kOwner);
    f.registry.push("app", "1", {kTop});
    const fs::path squashfs = f.import("app:1")->squashfs;
    const Reference old = f.reference("old:1");
    const std::string name = enroot_names(old).front();
    fs::copy_file(squashfs, f.root / name);
    EXPECT_EQ(*f.store().find(old), std::nullopt);
    fs::copy_file(squashfs, f.root / "user-0" / name);
    EXPECT_TRUE(*f.store().find(old)) << "nobody else can put it there";
    f.give(f.root, 0755, kOwner);
    fs::remove(f.root / "user-0" / name);
    EXPECT_TRUE(*f.store().find(old));
}

// Both may be ours, and have been moved here by somebody else.
TEST(image, store_believes_no_link_and_nothing_that_others_write_to_as_our_own_part) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    for (bool is_link : {true, false}) {
        SharedStore f(01777, kOwner);
        auto pushed = f.registry.push("app", "1", {kTop});
        const fs::path own = f.root / "user-0", planted = is_link ? f.root / "planted" : own;
        fs::create_directory(planted);
        for (const char* part : {"images", "refs"}) fs::create_directory(planted / part);
        const StoreLayout layout{planted};
        const std::string key = image_key(pushed.digest, host_platform());
        EXPECT_TRUE(core::replace_file(
            layout.sidecar(key),
            sidecar_text(pushed.digest, R"({"rootfs":{"type":"layers","diff_ids":[]}})", {})));
        EXPECT_TRUE(core::replace_file(layout.image(key), "planted"));
        if (is_link)
            fs::create_directory_symlink("planted", own);
        else
            f.give(own, 0775, geteuid());
        EXPECT_EQ(*f.store().find(f.reference("app@" + pushed.digest)), std::nullopt) << is_link;
        auto image = f.import("app:1");
        ASSERT_TRUE(image) << image.error().render();
        EXPECT_EQ(content(*image, "etc/os-release"), "ID=top\n");
    }
}

TEST(image, store_of_a_group_is_shared) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    SharedStore f(02775, kOwner);
    auto pushed = f.registry.push("app", "1", {kTop});
    f.plant(pushed.digest, 02775, kMallory);
    f.expect_planted(pushed.digest);
}

TEST(image, store_of_everybody_needs_a_place_for_each) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    SharedStore f(01777, kOwner);
    auto pushed = f.registry.push("app", "1", {kTop});
    const fs::path own = f.root / "user-0";
    fs::create_directory(own);
    f.give(own, 0777);
    f.give(f.root, 0777, kOwner);
    auto image = f.import("app:1");
    ASSERT_FALSE(image);
    EXPECT_THAT(image.error().render(),
                AllOf(HasSubstr("everybody may replace"), HasSubstr("mode 0777"), HasSubstr("chmod +t")));
    // Somebody else has taken the name: it gets another, and keeps it.
    f.give(f.root, 01777, kOwner);
    for (int time : {1, 2}) {
        image = f.import("app:1");
        ASSERT_TRUE(image) << time << image.error().render();
        EXPECT_THAT(image->squashfs.string(), ::testing::StartsWith(own.string() + "-"));
    }
    EXPECT_EQ(f.store().list()->images.size(), 1U);
    EXPECT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
    fs::remove(own);
    image = f.import("app:1");
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_THAT(image->squashfs.parent_path().string(), EndsWith("user-0/images"));
    // What the owner of the store has there is for all.
    EXPECT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
    f.plant(pushed.digest, 0755, kOwner);
    f.expect_planted(pushed.digest);
}

TEST(image, store_of_two_users_at_once) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    for (mode_t mode : {01777U, 02770U}) {
        SharedStore f(mode, 60000);
        f.registry.push("app", "1", {kBase, kTop});
        std::vector<pid_t> users;
        for (uid_t user : {65001U, 65002U}) {
            users.push_back(fork());
            if (users.back() != 0) continue;
            if (setgid(60000) != 0 || setuid(user) != 0) _exit(9);
            auto image = f.import("app:1");
            if (!image) std::fputs(image.error().render().c_str(), stderr);
            _exit(image && content(*image, "etc/os-release") == "ID=top\n" ? 0 : 1);
        }
        for (pid_t user : users) {
            int status = 0;
            ASSERT_EQ(waitpid(user, &status, 0), user);
            EXPECT_EQ(status, 0) << mode;
        }
        const bool shared = mode != 01777;
        EXPECT_EQ(fs::exists(f.root / "images"), shared);
        EXPECT_EQ(fs::exists(f.root / "user-65001/images"), !shared);
        EXPECT_EQ(fs::exists(f.root / "user-65002/images"), !shared);
    }
}

}  // namespace
}  // namespace belay::image
