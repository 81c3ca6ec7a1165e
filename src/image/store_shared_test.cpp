// A store that other nodes and users write to at the same time.
#include "core/file.h"
#include "core/host_name.h"
#include "core/testing/sandbox.h"
#include "image/squashfs_reader.h"
#include "image/store.h"
#include "image/store_lock.h"
#include "image/testing/store_fixture.h"

#include <atomic>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using namespace belay::image::testing;
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(image, store_writes_through_no_planted_link) {
    for (bool symbolic : {true, false}) {
        StoreFixture f;
        auto pushed = f.registry.push("app", "1", {kBase});
        const fs::path canary = f.directory.path() / "canary";
        ASSERT_TRUE(core::replace_file(canary, "alive"));
        const fs::path partial =
            f.directory.path() / "store/partial" /
            fmt::format("{}-{}-{}", hex_of(pushed.layers[0]), getuid(), core::host_name());
        fs::create_directories(partial.parent_path());
        if (symbolic)
            fs::create_symlink(canary, partial);
        else
            fs::create_hard_link(canary, partial);
        auto image = f.import("app:1");
        ASSERT_TRUE(image) << image.error().render();
        EXPECT_EQ(*core::read_file(canary), "alive") << symbolic;
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(f.blob(pushed.layers[0]))));
    }
}

// One layer is not there, the other would be waited for: for its lock, or for as long as the server asks.
TEST(image, store_says_at_once_what_is_missing) {
    for (bool locked : {true, false}) {
        StoreFixture f;
        auto pushed = f.registry.push("app", "1", {kBase, kTop});
        const StoreLayout layout{f.directory.path() / "store"};
        fs::create_directories(layout.locks());
        std::optional<StoreLock> lock;
        if (locked)
            lock = std::move(*StoreLock::try_acquire(
                layout.lock(fmt::format("{}-{}", hex_of(pushed.layers[0]), getuid()))));
        f.registry.before_sent = [pushed](const auto& request, auto& response) {
            if (request.target.ends_with(pushed.layers[0]))
                response = {.status = 503, .headers = {{"Retry-After", "299"}}};
        };
        f.registry.served.erase(FakeRegistry::blob_path("app", pushed.layers[1]));
        StoreOptions options;
        options.fetch.longest_wait = std::chrono::minutes(9);
        auto image = f.store(options).import(f.reference("app:1"), no_login);
        ASSERT_FALSE(image);
        EXPECT_THAT(image.error().message(), HasSubstr("does not have"));
        EXPECT_THAT(image.error().message(), HasSubstr(short_digest(pushed.layers[1])));
    }
}

constexpr timespec kLongAgo[2] = {{1, 0}, {1, 0}};

TEST(image, store_sweeps_up_after_the_killed) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kTop});
    const fs::path images = f.directory.path() / "store/images";
    fs::create_directories(images);
    const std::string key = image_key(pushed.digest, host_platform());
    const std::string other = image_key(digest_of("other"), host_platform());
    const std::string here = "." + core::host_name() + ".";
    const std::string far_off = ".node7.example.org.";
    const std::string in_use = "." + key + far_off + "8-9";
    for (const std::string& name :
         {"." + key + here + "1-2", "." + other + here + "3-4", "." + other + far_off + "5-6",
          other + ".json.tmp-5-6", key + ".json", in_use}) {
        ASSERT_TRUE(core::replace_file(images / name, "half"));
        if (!name.contains(here) && name != in_use) {
            ASSERT_EQ(utimensat(AT_FDCWD, (images / name).c_str(), kLongAgo, 0), 0);
        }
    }
    const fs::path refs = f.directory.path() / "store/refs";
    fs::create_directories(refs);
    for (const char* name : {"a+1-amd64.tmp-1", "a+1-amd64.tmp-2"})
        ASSERT_TRUE(core::replace_file(refs / name, "half"));
    ASSERT_EQ(utimensat(AT_FDCWD, (refs / "a+1-amd64.tmp-1").c_str(), kLongAgo, 0), 0);
    EXPECT_EQ(*f.store().find(f.reference("app@" + pushed.digest)), std::nullopt);
    ASSERT_TRUE(f.import("app:1"));
    EXPECT_THAT(f.files(),
                ElementsAre("images/" + in_use, "images/" + key + ".json", "images/" + key + ".sqsh",
                            HasSubstr("refs/127"), "refs/a+1-amd64.tmp-2"));
}

// That nothing is there is one thing, that nobody can see what is there another.
TEST(image, store_says_what_it_cannot_look_at) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kTop});
    const fs::path images = f.directory.path() / "store/images";
    fs::create_directories(images.parent_path());
    fs::create_symlink(images, images);
    auto found = f.store().find(f.reference("app@" + pushed.digest));
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message(), HasSubstr("cannot look at " + images.string()));
}

// On a file system on which what is being written has a name, which another node may take for left behind.
TEST(image, store_takes_the_image_that_another_node_made_meanwhile) {
    core::expect_where_files_have_names([] {
        for (bool made : {true, false}) {
            StoreFixture f;
            auto pushed = f.registry.push("app", "1", {kTop});
            const fs::path images = f.directory.path() / "store/images";
            const fs::path image_file = images / (image_key(pushed.digest, host_platform()) + ".sqsh");
            auto sweep = [&](ImportPhase phase, uint64_t done, uint64_t total) {
                if (phase != ImportPhase::kWriting || done != total) return;
                for (const auto& entry : fs::directory_iterator(images)) fs::remove(entry.path());
                if (made) (void)core::replace_file(image_file, "as of another node");
            };
            auto image = f.store().import(f.reference("app:1"), no_login, sweep);
            ASSERT_EQ(image.has_value(), made);
            EXPECT_THAT(made ? "cannot replace" : image.error().message(), HasSubstr("cannot replace"));
        }
    });
}

}  // namespace
}  // namespace belay::image
