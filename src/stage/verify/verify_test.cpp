#include "stage/verify/verify.h"

#include "stage/dataset/dataset.h"
#include "stage/pack/journal.h"
#include "stage/pack/pack.h"
#include "stage/pack/testing.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kThreads = 2;

void pack_small(const SourceForTests& data, shard::Format format = shard::Format::kTar) {
    PackOptions options{.format = format, .threads = kThreads, .tool = "test"};
    if (format == shard::Format::kTar) options.shard_bytes = 40'960;
    auto packed = pack(data.source(), data.output(), options);
    ASSERT_TRUE(packed) << packed.error().render();
}

void flip_bit(const fs::path& path, uint64_t bit) {
    std::string bytes = content_of(path);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::vector<fs::path> files_of(const fs::path& directory) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

TEST(stage_verify, what_was_packed_is_sound) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    const auto verified = verify(data.output(), kThreads);
    ASSERT_TRUE(verified) << verified.error().render();
    EXPECT_THAT(verified->bad, IsEmpty());
    EXPECT_GT(verified->shards, 3u);
}

// Anywhere in tars, indexes and the manifest; each bit is as likely as any other.
TEST(stage_verify, each_flipped_bit_is_found_and_repaired_or_named) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    const auto before = contents_of(data.output());
    const auto files = files_of(data.output());
    std::mt19937_64 random(7);
    for (int round = 0; round < 60; ++round) {
        const fs::path& file = files[random() % files.size()];
        const uint64_t bit = random() % (8 * fs::file_size(file));
        flip_bit(file, bit);
        const auto verified = verify(data.output(), kThreads).value();
        const bool is_manifest = file.filename() == shard::kManifestName;
        ASSERT_FALSE(verified.ok()) << file << " bit " << bit;
        EXPECT_EQ(verified.bad.front().shard, file.filename());
        const auto repaired = repair(data.output(), std::nullopt, kThreads).value();
        if (is_manifest) {
            ASSERT_EQ(repaired.left.size(), 1u);
            EXPECT_EQ(repaired.left.front().shard, shard::kManifestName);
            flip_bit(file, bit);
        } else {
            EXPECT_THAT(repaired.left, IsEmpty());
            EXPECT_THAT(repaired.repaired, ElementsAre(file.filename().string()));
        }
        ASSERT_EQ(contents_of(data.output()), before) << file << " bit " << bit;
    }
}

TEST(stage_verify, a_damaged_record_is_named) {
    SourceForTests data;
    data.file("a.txt", std::string(5000, 'a'));
    data.file("b.txt", std::string(5000, 'b'));
    pack_small(data);
    const fs::path tar = data.output() / "train-000000.tar";
    flip_bit(tar, 8 * content_of(tar).find("bbbb"));
    const auto bad = verify(data.output(), kThreads).value().bad;
    ASSERT_EQ(bad.size(), 1u);
    EXPECT_EQ(bad[0].sample, "b.txt");
    EXPECT_THAT(bad[0].why, HasSubstr("its content is damaged"));
}

TEST(stage_verify, missing_cut_and_grown_files_are_found_and_made_again) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    const auto before = contents_of(data.output());
    fs::remove(data.output() / "train-000000.tar");
    fs::remove(data.output() / "train-000001.idx");
    fs::resize_file(data.output() / "train-000002.tar", 1000);
    std::ofstream(data.output() / "train-000003.tar", std::ios::app) << "more";
    const auto verified = verify(data.output(), kThreads).value();
    EXPECT_GE(verified.bad.size(), 4u);
    const auto repaired = repair(data.output(), std::nullopt, kThreads).value();
    EXPECT_THAT(repaired.left, IsEmpty());
    EXPECT_EQ(contents_of(data.output()), before);
}

TEST(stage_verify, nothing_else_takes_the_place_of_what_was_packed) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    flip_bit(data.output() / "train-000000.tar", 5000);
    const auto before = contents_of(data.output());
    data.file("class0/000.bin", "changed");
    const auto repaired = repair(data.output(), std::nullopt, kThreads).value();
    EXPECT_THAT(repaired.repaired, IsEmpty());
    ASSERT_FALSE(repaired.left.empty());
    EXPECT_THAT(repaired.left[0].why, HasSubstr("it cannot be rebuilt"));
    EXPECT_EQ(contents_of(data.output()), before);
}

// Each of the two would take what the other makes for leftovers.
TEST(stage_verify, repair_and_pack_wait_for_each_other) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    flip_bit(data.output() / "train-000000.tar", 5000);
    {
        const auto place = core::Directory::open(data.output()).value();
        const auto other = Journal::open(place).value();
        const auto repaired = repair(data.output(), std::nullopt, kThreads);
        ASSERT_FALSE(repaired);
        EXPECT_EQ(repaired.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_THAT(repaired.error().message(), HasSubstr("another process"));
    }
    EXPECT_THAT(repair(data.output(), std::nullopt, kThreads)->repaired, ElementsAre("train-000000.tar"));
    EXPECT_FALSE(fs::exists(data.output() / ".packing"));
    EXPECT_TRUE(verify(data.output(), kThreads)->ok());
}

TEST(stage_verify, the_source_that_another_user_names_is_not_read) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
    SourceForTests data;
    data.some_files();
    pack_small(data);
    ASSERT_EQ(chown((data.output() / shard::kManifestName).c_str(), 65534, 65534), 0);
    flip_bit(data.output() / "train-000000.tar", 5000);
    const auto left = repair(data.output(), std::nullopt, kThreads).value();
    EXPECT_THAT(left.repaired, IsEmpty());
    ASSERT_FALSE(left.left.empty());
    EXPECT_THAT(left.left[0].why, HasSubstr("belongs to another user"));
    EXPECT_THAT(repair(data.output(), data.source(), kThreads)->repaired, ElementsAre("train-000000.tar"));
}

// Where the source has gone, an index can still be made from its tar.
TEST(stage_verify, an_index_is_made_without_the_source) {
    SourceForTests data;
    data.some_files();
    pack_small(data);
    const auto before = contents_of(data.output());
    fs::remove_all(data.source());
    flip_bit(data.output() / "train-000002.idx", 300);
    EXPECT_THAT(repair(data.output(), std::nullopt, kThreads)->repaired, ElementsAre("train-000002.idx"));
    EXPECT_EQ(contents_of(data.output()), before);
    flip_bit(data.output() / "train-000002.tar", 300);
    EXPECT_EQ(repair(data.output(), std::nullopt, kThreads)->left.size(), 1u);
}

TEST(stage_verify, an_image_is_made_again) {
    SourceForTests data;
    data.some_files();
    pack_small(data, shard::Format::kSquashfs);
    const auto before = contents_of(data.output());
    flip_bit(data.output() / "train.sqsh", 4000);
    EXPECT_FALSE(verify(data.output(), kThreads)->ok());
    EXPECT_THAT(repair(data.output(), std::nullopt, kThreads)->repaired, ElementsAre("train.sqsh"));
    EXPECT_EQ(contents_of(data.output()), before);
}

TEST(stage_verify, what_is_no_packed_data_is_the_persons_mistake) {
    SourceForTests data;
    EXPECT_THAT(verify(data.source(), kThreads).error().message(), HasSubstr("contains no packed data"));
    std::ofstream(data.source() / ".packing").put('\n');
    EXPECT_THAT(verify(data.source(), kThreads).error().message(),
                HasSubstr("was interrupted, or is under way"));
    EXPECT_EQ(verify(data.output("nothing"), kThreads).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::stage
