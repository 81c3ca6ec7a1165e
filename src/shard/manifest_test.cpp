#include "shard/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::shard {
namespace {

using testing::HasSubstr;

Manifest some() {
    return {.name = "train",
            .created = "2026-01-02T03:04:05.000000Z",
            .tool = "belay 0.6.0",
            .options = {.shard_bytes = 1 << 20, .shuffle_key = 7},
            .source = {.root = "/data/train",
                       .files = 3,
                       .bytes = 30,
                       .listing_sha256 = "ab",
                       .url = "https://example.org",
                       .licence = "CC0-1.0",
                       .revision = "v1"},
            .shards = {{.path = "train-000000.tar",
                        .bytes = 10240,
                        .records = 2,
                        .samples = 1,
                        .sha256 = "cd",
                        .index_sha256 = "ef"},
                       {.path = "train-000001.tar",
                        .bytes = 10240,
                        .records = 1,
                        .samples = 1,
                        .sha256 = "01",
                        .index_sha256 = "23"}}};
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
}
std::string problem(const std::string& text) {
    auto manifest = parse_manifest(text, "m.json");
    return manifest ? "none" : manifest.error().message();
}

TEST(shard_manifest, gives_back_what_was_written) {
    auto manifest = parse_manifest(encode_manifest(some()), "m.json");
    ASSERT_TRUE(manifest) << manifest.error().render();
    EXPECT_EQ(*manifest, some());
    EXPECT_EQ(manifest->records(), 3u);
}

TEST(shard_manifest, says_what_is_wrong) {
    const std::string text = encode_manifest(some());
    EXPECT_THAT(problem(replaced(text, "\"cd\"", "\"ce\"")), HasSubstr("changed after it was written"));
    EXPECT_THAT(problem(replaced(text, "\"files\": 3", "\"files\": 3, \"extra\": 1")),
                HasSubstr("source: unknown key \"extra\""));
    EXPECT_THAT(problem(replaced(text, "\"records\": 2", "\"records\": 5")), HasSubstr("totals"));
    EXPECT_THAT(problem(replaced(text, "train-000000.tar", "../train-000000.tar")),
                HasSubstr("leads out of the directory"));
    EXPECT_THAT(problem(replaced(text, "belay.stage/1", "belay.stage/2")), HasSubstr("belay.stage/2"));
    EXPECT_THAT(problem(replaced(text, "\"bytes\": 30", "\"bytes\": -30")),
                HasSubstr("source: \"bytes\" is not a whole number"));
    EXPECT_THAT(problem(replaced(text, "\"url\"", "\"uri\"")), HasSubstr("\"url\" is missing"));
    EXPECT_THAT(problem("[]"), HasSubstr("is not an object"));
    EXPECT_THAT(parse_manifest("{", "m.json").error().headline(), HasSubstr("m.json:1:"));
}

// With a digest that is right, as another program might write them.
TEST(shard_manifest, shards_that_no_pack_makes_are_refused) {
    Manifest twice = some();
    twice.shards[1].path = twice.shards[0].path;
    EXPECT_THAT(problem(encode_manifest(twice)), HasSubstr("is named twice"));
    Manifest empty = some();
    empty.shards.clear();
    EXPECT_THAT(problem(encode_manifest(empty)), HasSubstr("lists no shards"));
    Manifest without_index = some();
    without_index.shards[0].index_sha256.clear();
    EXPECT_THAT(problem(encode_manifest(without_index)), HasSubstr("is not a shard of this format"));
    Manifest image = some();
    image.format = Format::kSquashfs;
    image.options = {.compression = "none"};
    for (ManifestShard& shard : image.shards) shard.index_sha256.clear();
    EXPECT_THAT(problem(encode_manifest(image)), HasSubstr("an image has one file"));
}

TEST(shard_manifest, any_flipped_bit_is_found) {
    const std::string text = encode_manifest(some());
    for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
        std::string damaged = text;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(parse_manifest(damaged, "m.json")) << "bit " << bit;
    }
}

}  // namespace
}  // namespace belay::shard
