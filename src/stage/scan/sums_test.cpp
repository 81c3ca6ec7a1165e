#include "stage/scan/sums.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
constexpr int64_t kNow = 1000 * kDay;

Entry file(std::string name, uint64_t bytes) {
    return {.name = std::move(name),
            .type = core::FileType::kRegular,
            .bytes = bytes,
            .allocated_bytes = bytes,
            .modified = kNow,
            .accessed = kNow,
            .links = 1};
}

size_t compared_files(const TreeSums& sums) {
    size_t files = 0;
    for (const auto& [bytes, candidates] : sums.same_size.by_size()) files += candidates.size();
    return files;
}

TEST(stage_sums, sizes_are_grouped_by_powers_of_two) {
    EXPECT_EQ(size_bucket(0), 0u);
    EXPECT_EQ(size_bucket(1), 1u);
    EXPECT_EQ(size_bucket(4095), 12u);
    EXPECT_EQ(size_bucket(4096), 13u);
    EXPECT_EQ(size_bucket(UINT64_MAX), 64u);
}

TEST(stage_sums, ages_end_where_the_next_begins) {
    TreeSums sums;
    std::vector<Entry> entries;
    for (int days : {0, 1, 6, 7, 29, 30, 365, 900}) {
        Entry entry = file(std::to_string(days), 1);
        entry.accessed = kNow - days * kDay;
        entries.push_back(entry);
    }
    entries.push_back(file("from the future", 1));
    entries.back().accessed = kNow + kDay;
    sums.add({.entries = entries}, kNow);
    std::vector<uint64_t> counts;
    for (const Amount& amount : sums.accessed) counts.push_back(amount.files);
    EXPECT_THAT(counts, ElementsAre(2, 2, 1, 1, 1, 0, 2));
}

TEST(stage_sums, a_time_of_access_that_is_not_kept_is_no_age) {
    TreeSums sums;
    std::vector<Entry> entries = {file("a", 10)};
    entries[0].accessed = 0;
    sums.add({.entries = entries}, kNow);
    for (const Amount& amount : sums.accessed) EXPECT_EQ(amount.files, 0u);
    EXPECT_EQ(sums.files.files, 1u);
}

TEST(stage_sums, links_of_one_inode_are_counted_once) {
    TreeSums sums;
    std::vector<Entry> entries = {file("a", 10), file("b", 10), file("c", 5)};
    entries[0].links = entries[1].links = 2;
    entries[0].inode = entries[1].inode = 7;
    sums.add({.entries = entries}, kNow);
    EXPECT_EQ(sums.files, (Amount{3, 25}));
    EXPECT_EQ(sums.linked_files, 2u);
    EXPECT_THAT(sums.linked_inodes, ElementsAre(7));
}

// Whatever the order and the parts in which a tree comes, the sums and the files that are looked at more
// closely are the same.
TEST(stage_sums, parts_add_up_to_the_whole_in_any_order) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 5; ++round) {
        std::vector<std::vector<Entry>> directories(30);
        for (auto& entries : directories)
            for (int i = 0; i < 400; ++i)
                entries.push_back(
                    file(std::to_string(i), random() % 3 == 0 ? random() % 50 : random() % 1'000'000));
        std::vector<TreeSums> parts(4);
        TreeSums whole;
        std::vector<size_t> order(directories.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        auto listing = [&](const std::string& path, size_t i) {
            return Listing{.path = path,
                           .depth = 1,
                           .entries = directories[i],
                           .directory_entries = directories[i].size()};
        };
        for (size_t i : order) whole.add(listing("d" + std::to_string(i), i), kNow);
        std::ranges::shuffle(order, random);
        for (size_t i : order) parts[random() % parts.size()].add(listing("d" + std::to_string(i), i), kNow);
        TreeSums sum;
        for (const TreeSums& part : parts) sum.add(part);
        EXPECT_EQ(sum.files, whole.files);
        EXPECT_EQ(sum.sizes, whole.sizes);
        EXPECT_EQ(sum.most_entries, whole.most_entries);
        EXPECT_EQ(sum.sample.files(), whole.sample.files());
        EXPECT_THAT(sum.sample.files(), SizeIs(TreeSums::kSampledFiles));
        auto sorted = [](const SizeSample& sample) {
            auto by_size = sample.by_size();
            for (auto& [bytes, files] : by_size) std::ranges::sort(files);
            return by_size;
        };
        EXPECT_EQ(sorted(sum.same_size), sorted(whole.same_size));
        EXPECT_LE(compared_files(sum), TreeSums::kComparedFiles);
        EXPECT_GT(compared_files(sum), 0u);
    }
}

TEST(stage_sums, files_of_one_size_are_all_compared_or_none) {
    std::vector<Entry> entries;
    for (int i = 0; i < 5000; ++i) entries.push_back(file("same" + std::to_string(i), 4096));
    for (int i = 0; i < 3; ++i) entries.push_back(file("other" + std::to_string(i), 77));
    TreeSums sums;
    sums.add({.entries = entries}, kNow);
    for (const auto& [bytes, files] : sums.same_size.by_size())
        EXPECT_THAT(files, SizeIs(bytes == 77 ? 3 : 5000));
    EXPECT_LE(compared_files(sums), TreeSums::kComparedFiles);
}

}  // namespace
}  // namespace belay::stage
