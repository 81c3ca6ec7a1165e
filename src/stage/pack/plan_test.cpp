#include "stage/pack/plan.h"

#include "shard/tar_format.h"
#include "stage/pack/sample.h"

#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;

TEST(stage_plan, a_sample_is_what_webdataset_takes_for_one) {
    EXPECT_EQ(sample_key("a/b/0001.seg.png"), "a/b/0001");
    EXPECT_EQ(sample_key("a.d/0001.png"), "a.d/0001");
    EXPECT_EQ(sample_key("0001"), "0001");
    EXPECT_EQ(sample_key("a.d/README"), "a.d/README");
    EXPECT_EQ(sample_key("a/.hidden.txt"), "a/.hidden.txt");
    EXPECT_EQ(sample_key("a/x."), "a/x");
}

SourceListing listing_of(const std::vector<std::string>& paths, uint64_t bytes = 100) {
    SourceListing listing;
    for (const std::string& path : paths) listing.files.push_back({.path = path, .bytes = bytes});
    std::ranges::sort(listing.files, {}, &SourceFile::path);
    return listing;
}

std::vector<std::vector<std::string>> names(const SourceListing& listing, const PlanOptions& options) {
    std::vector<std::vector<std::string>> names;
    const auto plan = plan_shards(listing, options).value();
    for (const PlannedShard& shard : plan) {
        names.emplace_back();
        for (const PlannedFile& file : shard.files) names.back().push_back(listing.files[file.file].path);
    }
    return names;
}

TEST(stage_plan, files_of_a_sample_stand_together) {
    EXPECT_THAT(names(listing_of({"a.jpg", "a-b.jpg", "a.cls", "a", "a/x.jpg"}), {}),
                ElementsAre(ElementsAre("a", "a.cls", "a.jpg", "a-b.jpg", "a/x.jpg")));
}

// Whatever the sizes are: every file once, no sample in two shards, no shard larger than it may be.
TEST(stage_plan, shards_hold_every_file_once) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 50; ++round) {
        SourceListing listing;
        for (int i = 0; i < 300; ++i) {
            const std::string key = "d" + std::to_string(random() % 5) + "/" + std::to_string(i);
            for (const char* suffix : {".jpg", ".cls"})
                listing.files.push_back({.path = key + suffix, .bytes = random() % 20'000});
        }
        std::ranges::sort(listing.files, {}, &SourceFile::path);
        PlanOptions options{.shard_bytes = 10'240 + random() % 200'000};
        if (round % 2 == 1) options.shuffle_key = random();
        std::set<size_t> seen;
        std::set<std::string> samples;
        const auto plan = plan_shards(listing, options).value();
        for (const PlannedShard& shard : plan) {
            std::set<std::string> here;
            uint64_t bytes = 0;
            for (const PlannedFile& file : shard.files) {
                EXPECT_TRUE(seen.insert(file.file).second);
                here.insert(std::string(sample_key(listing.files[file.file].path)));
                const SourceFile& source = listing.files[file.file];
                bytes += shard::tar_header_bytes(source.path, source.bytes) + source.bytes +
                         shard::tar_padding(source.bytes);
            }
            EXPECT_EQ(shard.tar_bytes, bytes + shard::tar_trailer(bytes));
            EXPECT_EQ(shard.samples, here.size());
            EXPECT_TRUE(shard.samples == 1 || shard.tar_bytes <= options.shard_bytes);
            for (const std::string& key : here)
                EXPECT_TRUE(samples.insert(key).second) << key << " is in two shards";
        }
        EXPECT_EQ(seen.size(), listing.files.size());
    }
}

TEST(stage_plan, a_shuffle_depends_on_its_key_alone) {
    std::vector<std::string> paths;
    for (int i = 0; i < 100; ++i) paths.push_back(std::to_string(i) + ".jpg");
    const SourceListing listing = listing_of(paths);
    EXPECT_EQ(names(listing, {.shuffle_key = 1}), names(listing, {.shuffle_key = 1}));
    EXPECT_NE(names(listing, {.shuffle_key = 1}), names(listing, {.shuffle_key = 2}));
    EXPECT_NE(names(listing, {.shuffle_key = 0}), names(listing, {}));
}

TEST(stage_plan, a_digest_knows_each_change) {
    SourceListing listing = listing_of({"a.jpg", "b.jpg"});
    const auto plan = plan_shards(listing, {}).value();
    std::set<std::string> digests = {digest_of(listing, plan[0])};
    listing.files[0].modified = 1;
    digests.insert(digest_of(listing, plan[0]));
    listing.files[1].bytes = 101;
    digests.insert(digest_of(listing, plan[0]));
    EXPECT_EQ(digests.size(), 3u);
}

}  // namespace
}  // namespace belay::stage
