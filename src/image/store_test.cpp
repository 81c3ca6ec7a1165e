#include "image/store.h"

#include "core/file.h"
#include "core/host_name.h"
#include "core/json.h"
#include "image/squashfs_reader.h"
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

TEST(image, store_imports_and_finds) {
    StoreFixture f;
    auto pushed = f.registry.push("team/app", "1", {kBase, kTop},
                                  {{"created", "2024-05-06T07:08:09Z"},
                                   {"config",
                                    {{"Env", {"A=1", "PATH=/opt/bin"}},
                                     {"Entrypoint", {"/init"}},
                                     {"WorkingDir", "/work"},
                                     {"User", "1000"}}}});
    EXPECT_EQ(*f.store().find(f.reference("team/app:1")), std::nullopt);
    auto image = f.import("team/app:1");
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(image->digest, pushed.digest);
    EXPECT_EQ(content(*image, "etc/os-release"), "ID=top\n");
    EXPECT_EQ(content(*image, "big"), noise(200000));
    EXPECT_THAT(image->config.environment, ElementsAre("A=1", "PATH=/opt/bin"));
    EXPECT_THAT(image->config.entrypoint, ElementsAre("/init"));
    EXPECT_EQ(image->config.working_directory, "/work");
    EXPECT_EQ(image->bytes, fs::file_size(image->squashfs));

    const std::string key = image_key(pushed.digest, host_platform());
    EXPECT_THAT(f.files(), ElementsAre("images/" + key + ".json", "images/" + key + ".sqsh",
                                       "refs/" + ref_name(f.reference("team/app:1"), host_platform())));
    size_t requests = f.registry.server.requests().size();
    auto found = f.store().find(f.reference("team/app:1"));
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->squashfs, image->squashfs);
    EXPECT_EQ((*found)->config, image->config);
    EXPECT_EQ(f.registry.server.requests().size(), requests);  // nobody was asked
}

TEST(image, store_takes_this_platform_of_an_index) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "only", {kTop});
    std::string index = f.registry.push_index("app", "1", pushed.digest, host_platform());
    f.registry.push_index("app", "other", pushed.digest, {"linux", "s390x", ""});
    auto image = f.import("app:1@" + index);
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(image->digest, pushed.digest);
    size_t requests = f.registry.server.requests().size();
    EXPECT_TRUE(f.import("app@" + index));          // what a hash means never changes,
    EXPECT_TRUE(f.import("app@" + pushed.digest));  // and the manifest's own is known too
    EXPECT_EQ(f.registry.server.requests().size(), requests);
    auto other = f.import("app:other");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(other.error().message(), AllOf(HasSubstr("/app:other"), HasSubstr("linux/s390x")));
    f.registry.push("app", "arm", {kTop}, {{"architecture", "s390x"}});
    other = f.import("app:arm");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("the image is for linux/s390x"));
}

TEST(image, store_downloads_a_layer_once) {
    StoreFixture f;
    auto first = f.registry.push("app", "1", {kBase});
    auto second = f.registry.push("app", "2", {kBase, kTop, kTop});
    ASSERT_TRUE(f.import("app:1"));
    auto image = f.import("app:2");
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(content(*image, "etc/os-release"), "ID=top\n");
    for (const std::string& layer : second.layers)
        EXPECT_EQ(f.registry.count(FakeRegistry::blob_path("app", layer)), 1u);
    // One that has been spoiled on disk is downloaded again.
    ASSERT_TRUE(core::replace_file(f.blob(first.layers[0]), "spoiled"));
    ASSERT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
    auto again = f.import("app:1");
    ASSERT_TRUE(again) << again.error().render();
    EXPECT_EQ(content(*again, "etc/os-release"), "ID=base\n");
    EXPECT_EQ(f.registry.count(FakeRegistry::blob_path("app", first.layers[0])), 2u);
}

TEST(image, store_follows_a_tag) {
    StoreFixture f;
    auto old = f.registry.push("app", "latest", {kBase});
    ASSERT_TRUE(f.import("app"));
    auto now = f.registry.push("app", "latest", {kTop});
    EXPECT_EQ((*f.store().find(f.reference("app")))->digest, old.digest);
    auto image = f.import("app");
    ASSERT_TRUE(image);
    EXPECT_EQ(image->digest, now.digest);
    EXPECT_EQ((*f.store().find(f.reference("app")))->digest, now.digest);
    auto rows = f.store().list();
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->images.size(), 2u);
    EXPECT_EQ(rows->images[0].reference, "");  // the one that lost its name
    EXPECT_EQ(rows->images[0].digest, old.digest);
    EXPECT_EQ(rows->images[1].reference, display_name(f.reference("app")));
    EXPECT_EQ(rows->images[1].architecture, host_platform().architecture);
    EXPECT_GE(rows->images[1].last_used, rows->images[1].created - std::chrono::seconds(1));
    EXPECT_TRUE(f.store().remove(f.reference("app@" + old.digest))->was_here);
    EXPECT_EQ(f.store().list()->images.size(), 1u);
}

TEST(image, store_lists_what_it_can_read_and_says_what_it_cannot) {
    StoreFixture f;
    f.registry.push("app", "1", {kBase});
    f.registry.push("app", "2", {kTop});
    ASSERT_TRUE(f.import("app:1"));
    ASSERT_TRUE(f.import("app:2"));
    const std::string damaged = f.files().front();
    ASSERT_TRUE(damaged.ends_with(".json"));
    ASSERT_TRUE(core::replace_file(f.directory.path() / "store" / damaged, "{"));
    auto listed = f.store().list();
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->images.size(), 1u);
    ASSERT_EQ(listed->unread.size(), 1u);
    EXPECT_THAT(listed->unread[0].message(), HasSubstr(damaged));
}

// One image, imported as app:1 and as app:2.
core::Result<Image> import_by_two_names(StoreFixture& f) {
    f.registry.push("app", "1", {kTop});
    f.registry.push("app", "2", {kTop});
    BELAY_CHECK(f.import("app:1"));
    return f.import("app:2");
}

TEST(image, store_removes_an_image_with_its_last_name) {
    StoreFixture f;
    auto image = import_by_two_names(f);
    ASSERT_TRUE(image);
    EXPECT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
    EXPECT_TRUE(fs::exists(image->squashfs));
    EXPECT_FALSE(f.store().remove(f.reference("app:1"))->was_here);
    EXPECT_TRUE(f.store().remove(f.reference("app:2"))->was_here);
    EXPECT_TRUE(f.files().empty());
    EXPECT_FALSE(f.store().remove(f.reference("app@" + image->digest))->was_here);
    EXPECT_FALSE(f.store().remove(*parse_reference("/etc/passwd")));
}

TEST(image, store_keeps_an_image_that_a_name_it_cannot_read_may_lead_to) {
    StoreFixture f;
    auto image = import_by_two_names(f);
    ASSERT_TRUE(image);
    const StoreLayout layout{f.directory.path() / "store"};
    const fs::path unreadable = layout.ref(f.reference("app:2"), host_platform());
    ASSERT_TRUE(core::replace_file(unreadable, "{"));
    auto listed = f.store().list();
    ASSERT_EQ(listed->unread.size(), 1u) << "the image is shown without that name";
    EXPECT_THAT(listed->unread[0].message(), HasSubstr(unreadable.string()));
    auto removal = f.store().remove(f.reference("app:1"));
    ASSERT_TRUE(removal);
    EXPECT_TRUE(removal->was_here);
    ASSERT_EQ(removal->unread.size(), 1u);
    EXPECT_THAT(removal->unread[0].message(), HasSubstr(unreadable.string()));
    EXPECT_TRUE(fs::exists(image->squashfs));
}

// Else the image of a group's store is there for nobody but who imported it.
TEST(image, store_shares_images_as_its_directory_says) {
    for (const auto& [directory, file] :
         {std::pair(0755U, 0644U), std::pair(0750U, 0640U), std::pair(0700U, 0600U)}) {
        StoreFixture f;
        f.registry.push("app", "1", {kTop});
        fs::create_directory(f.directory.path() / "store");
        ASSERT_EQ(chmod((f.directory.path() / "store").c_str(), directory), 0);
        const mode_t before = umask(077);
        auto image = f.import("app:1");
        umask(before);
        ASSERT_TRUE(image) << image.error().render();
        for (const std::string& name : f.files()) {
            if (name.starts_with("lock")) continue;
            struct stat status{};
            ASSERT_EQ(stat((f.directory.path() / "store" / name).c_str(), &status), 0);
            EXPECT_EQ(status.st_mode & 07777U, file) << name;
        }
    }
}

TEST(image, store_goes_on_after_broken_connections) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kBase});
    std::atomic<int> asked = 0;
    f.registry.before_sent = [&asked, pushed](const auto& request, auto& response) {
        if (request.target.ends_with(pushed.layers[0]) && ++asked < 4) response.close_after = 50000;
    };
    auto image = f.import("app:1");
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(content(*image, "big"), noise(200000));
    EXPECT_EQ(asked, 4);
}

TEST(image, store_goes_on_with_what_an_earlier_attempt_left) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kBase});
    std::atomic<bool> broken = true;
    f.registry.before_sent = [&broken, pushed](const auto& request, auto& response) {
        if (!request.target.ends_with(pushed.layers[0]) || !broken) return;
        response.no_answer = !request.header("range").empty();
        response.close_after = 50000;
    };
    auto image = f.import("app:1");
    ASSERT_FALSE(image);
    EXPECT_THAT(image.error().message(), AllOf(HasSubstr("/app:1"), HasSubstr(short_digest(pushed.layers[0])),
                                               HasSubstr("cannot reach")));
    EXPECT_THAT(f.files(), ElementsAre(HasSubstr("partial/")));
    broken = false;
    ASSERT_TRUE(f.import("app:1"));
    EXPECT_EQ(f.registry.server.requests().back().header("range"), "bytes=50000-");
    // What was left may also be wrong, or longer than what the registry has.
    ASSERT_TRUE(f.store().remove(f.reference("app:1"))->was_here);
    fs::remove(f.blob(pushed.layers[0]));
    fs::path partial = f.directory.path() / "store/partial" /
                       fmt::format("{}-{}-{}", hex_of(pushed.layers[0]), getuid(), core::host_name());
    ASSERT_TRUE(core::replace_file(partial, std::string(1000, 'x')));
    image = f.import("app:1");
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(content(*image, "big"), noise(200000));
    EXPECT_FALSE(fs::exists(partial));
}

// Each spoils what a registry has; nothing of it may become an image.
TEST(image, store_keeps_nothing_that_is_wrong) {
    struct Case {
        const char* name;
        std::function<void(FakeRegistry&, const FakeRegistry::Pushed&)> spoil;
        std::vector<std::string> said;
        bool names_layer = true;
    };
    auto path = [](const std::string& digest) { return FakeRegistry::blob_path("app", digest); };
    auto replace_text = [](FakeRegistry& registry, const std::string& from, const std::string& to) {
        nlohmann::json manifest = core::parse_json(registry.served["/v2/app/manifests/1"]);
        std::string config_path = FakeRegistry::blob_path("app", manifest["config"]["digest"]);
        std::string config = registry.served[config_path];
        config.replace(config.find(from), from.size(), to);
        manifest["config"]["digest"] = digest_of(config);
        manifest["config"]["size"] = config.size();
        registry.served[FakeRegistry::blob_path("app", digest_of(config))] = config;
        registry.served["/v2/app/manifests/1"] = manifest.dump();
    };
    const std::vector<Case> kCases = {
        {"one byte is another",
         [&](auto& r, auto& p) { r.served[path(p.layers[0])][500] ^= 1; },
         {"do not have its hash"}},
        {"shorter than the manifest says",
         [&](auto& r, auto& p) { r.served[path(p.layers[0])].resize(1000); },
         {"has only 1000 of its"}},
        {"longer than the manifest says",
         [&](auto& r, auto& p) { r.served[path(p.layers[0])] += "more"; },
         {"sends more than the"}},
        {"no layer at all", [&](auto& r, auto& p) { r.served.erase(path(p.layers[0])); }, {"does not have"}},
        {"another content than the configuration says",
         [&](auto& r, auto&) { replace_text(r, digest_of(kBase), digest_of("else")); },
         {"rootfs.diff_ids", "its content has the hash", "configuration says"},
         true},
        {"no configuration",
         [&](auto& r, auto&) {
             auto manifest = core::parse_json(r.served["/v2/app/manifests/1"]);
             r.served.erase(path(manifest["config"]["digest"]));
         },
         {"does not have"},
         false},
        {"one layer too many",
         [&](auto& r, auto&) {
             replace_text(r, "[\"" + digest_of(kBase), "[\"" + digest_of("x") + "\",\"" + digest_of(kBase));
         },
         {"the manifest has 2 layers, the configuration 3"},
         false},
    };
    for (const Case& bad : kCases) {
        SCOPED_TRACE(bad.name);
        StoreFixture f;
        auto pushed = f.registry.push("app", "1", {kBase, kTop});
        auto good = f.registry.served;
        bad.spoil(f.registry, pushed);
        auto image = f.import("app:1");
        ASSERT_FALSE(image);
        EXPECT_THAT(image.error().message(), HasSubstr(display_name(f.reference("app:1"))));
        EXPECT_EQ(image.error().message().contains(short_digest(pushed.layers[0])), bad.names_layer);
        std::string shown = image.error().render();
        bool said =
            std::ranges::any_of(bad.said, [&](const std::string& text) { return shown.contains(text); });
        EXPECT_TRUE(said) << shown;
        EXPECT_NE(image.error().hint_text(), "");
        EXPECT_THAT(f.files(), ::testing::Each(HasSubstr("partial/")));
        EXPECT_EQ(*f.store().find(f.reference("app:1")), std::nullopt);
        EXPECT_TRUE(f.store().list()->images.empty());
        f.registry.served = good;
        image = f.import("app:1");
        EXPECT_TRUE(image) << image.error().render();
    }
}

TEST(image, store_of_many_importers_downloads_once) {
    StoreFixture f;
    auto pushed = f.registry.push("app", "1", {kBase, kTop});
    std::vector<std::thread> nodes;
    std::atomic<int> imported = 0;
    for (int i = 0; i < 8; ++i)
        nodes.emplace_back([&] {
            auto image = f.import("app:1");
            if (image && content(*image, "etc/os-release") == "ID=top\n") ++imported;
        });
    for (std::thread& node : nodes) node.join();
    EXPECT_EQ(imported, 8);
    for (const std::string& layer : pushed.layers)
        EXPECT_EQ(f.registry.count(FakeRegistry::blob_path("app", layer)), 1u);
    EXPECT_EQ(f.files().size(), 3u);
}

TEST(image, store_keeps_as_many_layers_as_it_may) {
    core::TemporaryDirectory directory = std::move(*core::TemporaryDirectory::create());
    StoreLayout layout{directory.path()};
    fs::create_directories(layout.blobs());
    fs::create_directories(layout.partial());
    auto put = [](const fs::path& path, int64_t age_days, core::Time now) {
        ASSERT_TRUE(core::replace_file(path, std::string(100, 'x')));
        time_t seconds = core::to_nanoseconds(now) / 1'000'000'000 - age_days * 86400;
        timespec times[2] = {{seconds, 0}, {seconds, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    };
    core::Time now = core::time_from_nanoseconds(1'700'000'000'000'000'000);
    put(layout.blobs() / "new", 1, now);
    put(layout.blobs() / "middle", 2, now);
    put(layout.blobs() / "old", 3, now);
    put(layout.partial() / "lately", 6, now);
    put(layout.partial() / "abandoned", 8, now);
    trim_layers(layout, 250, now);
    EXPECT_TRUE(fs::exists(layout.blobs() / "middle"));
    EXPECT_FALSE(fs::exists(layout.blobs() / "old"));
    EXPECT_TRUE(fs::exists(layout.partial() / "lately"));
    EXPECT_FALSE(fs::exists(layout.partial() / "abandoned"));
    put(layout.blobs() / "in use", 0, now);
    trim_layers(layout, 0, now);
    EXPECT_TRUE(fs::exists(layout.blobs() / "in use"));
    EXPECT_FALSE(fs::exists(layout.blobs() / "middle"));
    EXPECT_FALSE(fs::exists(layout.blobs() / "new"));
    trim_layers(layout, 0, now + std::chrono::hours(1));
    EXPECT_TRUE(fs::is_empty(layout.blobs()));
}

TEST(image, store_must_be_a_place) {
    EXPECT_FALSE(Store::open("relative"));
    StoreFixture f;
    f.registry.push("app", "1", {kTop});
    ASSERT_TRUE(core::replace_file(f.directory.path() / "file", ""));
    auto store = Store::open(f.directory.path() / "file");
    ASSERT_TRUE(store);
    auto image = store->import(f.reference("app:1"), no_login);
    ASSERT_FALSE(image);
    EXPECT_THAT(image.error().render(),
                AllOf(HasSubstr("the image store cannot be used"), HasSubstr("EDF_IMAGESTORE")));
}

// In a thread, it would end the process.
TEST(image, an_exception_while_layers_are_fetched_is_an_error) {
    StoreFixture fixture;
    fixture.registry.push("app", "1", {kBase, kTop});
    auto image = fixture.store().import(fixture.reference("app:1"), no_login,
                                        [](ImportPhase phase, uint64_t, uint64_t) {
                                            if (phase == ImportPhase::kDownloading) throw std::bad_alloc();
                                        });
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().errno_value(), ENOMEM) << image.error().render();
}

}  // namespace
}  // namespace belay::image
