#include "stage/scan/scan.h"

#include "core/file.h"

#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;

std::string noise(size_t bytes, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string text(bytes, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
}

class Tree {
  public:
    const fs::path& path() const { return directory_.path(); }
    void file(const std::string& name, const std::string& content) const {
        fs::create_directories((path() / name).parent_path());
        std::ofstream(path() / name, std::ios::binary) << content;
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST(stage_scan, counts_and_measures) {
    Tree tree;
    for (uint64_t i = 0; i < 40; ++i) tree.file(fmt::format("class{}/{}.bin", i % 4, i), noise(3000 + i, i));
    tree.file("copy/a", noise(3001, 1));
    tree.file("copy/empty", "");
    auto scanned = scan(tree.path(), {.threads = 2});
    ASSERT_TRUE(scanned) << scanned.error().render();
    EXPECT_EQ(scanned->sums.files.files, 42u);
    EXPECT_EQ(scanned->duplicates, (Duplicates{.compared_files = 41, .files = 1, .bytes = 3001}));
    EXPECT_GT(scanned->compressed_share, 0.95) << "noise does not compress";
    EXPECT_EQ(scanned->speed.opened, 41u);
    EXPECT_GT(scanned->cost.loose_epoch_seconds, 0);
    const nlohmann::ordered_json json = to_json(*scanned);
    uint64_t files = 0;
    for (const auto& row : json["histogram"]) files += row["files"].get<uint64_t>();
    EXPECT_EQ(files, 42u);
    EXPECT_EQ(json["directories"], 6);
    EXPECT_THAT(json["verdict"].get<std::string>(), testing::AnyOf("leave", "pack"));
}

TEST(stage_scan, zeros_compress) {
    Tree tree;
    tree.file("zeros", std::string(1 << 20, '\0'));
    EXPECT_LT(scan(tree.path(), {})->compressed_share, 0.01);
}

TEST(stage_scan, an_empty_tree_costs_nothing) {
    Tree tree;
    auto scanned = scan(tree.path(), {});
    ASSERT_TRUE(scanned);
    EXPECT_EQ(scanned->cost.verdict, Verdict::kLeave);
    EXPECT_TRUE(to_json(*scanned)["read_bytes_per_second"].is_null());
    EXPECT_TRUE(to_json(*scanned)["open_seconds"].is_null());
    EXPECT_EQ(to_json(*scanned)["predicted_epoch_seconds"], 0);
}

TEST(stage_scan, access_times_stay_as_they_are) {
    Tree tree;
    tree.file("old", "content");
    const timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 2000, .tv_nsec = 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (tree.path() / "old").c_str(), static_cast<const timespec*>(long_ago), 0),
              0);
    ASSERT_TRUE(scan(tree.path(), {}));
    struct stat status{};
    ASSERT_EQ(stat((tree.path() / "old").c_str(), &status), 0);
    EXPECT_EQ(status.st_atim.tv_sec, 1000);
}

TEST(stage_scan, a_stop_is_heard_in_each_phase) {
    Tree tree;
    for (int i = 0; i < 50; ++i) tree.file(std::to_string(i), "content");
    std::atomic<bool> stop = true;
    EXPECT_EQ(scan(tree.path(), {.stop = &stop}).error().cause(), core::Cause::kCancelled);
    for (const std::string_view phase : {"reading the tree", "reading a sample of the files"}) {
        stop = false;
        bool was_told = false;
        const auto scanned =
            scan(tree.path(), {.stop = &stop, .progress = [&](std::string_view now, uint64_t) {
                                   if (now != phase) return;
                                   was_told = true;
                                   stop = true;
                               }});
        EXPECT_TRUE(was_told) << phase;
        ASSERT_FALSE(scanned) << phase;
        EXPECT_EQ(scanned.error().cause(), core::Cause::kCancelled) << phase;
    }
    const auto root = core::Directory::open(tree.path()).value();
    TreeSums sums;
    ASSERT_TRUE(walk(root, {}, [&](size_t, const Listing& listing) { sums.add(listing, 0); }));
    EXPECT_EQ(measure_reading(root, sums.sample.files(), 2, &stop)->opened, 0u);
    EXPECT_TRUE(std::isnan(compressed_share(root, sums.sample.files(), 2, &stop)));
    EXPECT_EQ(count_duplicates(root, sums.same_size, 2, &stop), Duplicates());
}

TEST(stage_scan, where_data_would_be_copied_to_must_be_a_directory) {
    Tree tree;
    tree.file("file", "x");
    for (const char* name : {"file", "nothing", "file/x"})
        EXPECT_EQ(measure_local(tree.path() / name).error().kind(), core::ErrorKind::kBadInput) << name;
}

TEST(stage_scan, a_copy_on_the_same_file_system_is_not_compared) {
    Tree tree;
    tree.file("data/file", "x");
    std::filesystem::create_directory(tree.path() / "local");
    ScanOptions options;
    options.local = tree.path() / "local";
    const auto scanned = scan(tree.path() / "data", options);
    ASSERT_TRUE(scanned) << scanned.error().message();
    EXPECT_TRUE(scanned->local_is_same);
    EXPECT_FALSE(scanned->local);
    options.local = tree.path() / "nothing";
    EXPECT_EQ(scan(tree.path() / "data", options).error().kind(), core::ErrorKind::kBadInput);
}

TEST(stage_scan, files_that_cannot_be_opened_are_named) {
    Tree tree;
    tree.file("file", "x");
    std::filesystem::create_symlink("file", tree.path() / "link");
    const auto root = core::Directory::open(tree.path()).value();
    const std::set<Candidate> sample = {{.path = "file"}, {.path = "gone"}, {.path = "link"}};
    const auto speed = measure_reading(root, sample, 1);
    ASSERT_TRUE(speed);
    EXPECT_EQ(speed->opened, 1u);
    EXPECT_EQ(speed->problem_count, 1u) << "what is gone is not counted";
    ASSERT_EQ(speed->problems.size(), 1u);
    EXPECT_EQ(speed->problems.front().path, "link");
}

TEST(stage_scan, what_is_no_directory_is_the_persons_mistake) {
    Tree tree;
    tree.file("file", "x");
    EXPECT_EQ(scan(tree.path() / "file", {}).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(scan(tree.path() / "nothing", {}).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::stage
