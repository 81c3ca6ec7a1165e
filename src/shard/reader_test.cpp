#include "core/file.h"
#include "core/hash.h"
#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/manifest.h"
#include "shard/reader/shards.hpp"
#include "shard/tar_format.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::shard {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct File {
    std::string name, content;
    uint32_t sample = 0;
};

// A packed data set of these shards, written here by hand.
class Packed {
  public:
    explicit Packed(const std::vector<std::vector<File>>& shards) {
        Manifest manifest{.name = "t\"x", .created = "2026-01-01T00:00:00Z", .tool = "test"};
        for (size_t i = 0; i < shards.size(); ++i)
            manifest.shards.push_back(write(fmt::format("t\"x-{:06d}", i), shards[i]));
        put("manifest.json", encode_manifest(manifest));
    }
    std::string path() const { return directory_.path().string(); }
    void put(const std::string& name, const std::string& bytes) const {
        std::ofstream(directory_.path() / name, std::ios::binary) << bytes;
    }

  private:
    ManifestShard write(const std::string& name, const std::vector<File>& files) const {
        std::string tar;
        std::vector<Record> records;
        uint32_t samples = 0;
        for (const File& file : files) {
            tar += tar_header(file.name, file.content.size());
            records.push_back(
                {file.name, tar.size(), file.content.size(), crc32c(file.content), file.sample});
            tar += file.content + std::string(tar_padding(file.content.size()), '\0');
            samples = std::max(samples, file.sample + 1);
        }
        tar += std::string(tar_trailer(tar.size()), '\0');
        put(name + ".tar", tar);
        const std::string index = encode_index(records, tar.size()).value();
        put(name + ".idx", index);
        return {.path = name + ".tar",
                .bytes = tar.size(),
                .records = files.size(),
                .samples = samples,
                .sha256 = "0",
                .index_sha256 = core::to_hex(core::sha256(index))};
    }
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

const std::vector<std::vector<File>> kShards = {
    {{"b.jpg", "B", 0}, {"b.cls", "1", 0}, {"a.jpg", std::string(3000, 'A'), 1}}, {{"c/\xff\n", "", 0}}};

TEST(shard_reader, finds_each_file_and_each_sample) {
    const Packed packed(kShards);
    const shards::Dataset data(packed.path());
    ASSERT_EQ(data.size(), 3u);
    std::vector<std::string> names;
    for (const shards::Record& record : data.sample(0)) names.emplace_back(record.name);
    EXPECT_THAT(names, ElementsAre("b.cls", "b.jpg"));
    EXPECT_EQ(data.sample(2).at(0).name, "c/\xff\n");
    for (const auto& shard : kShards)
        for (const File& file : shard) {
            const auto found = data.find(file.name);
            ASSERT_TRUE(found) << file.name;
            EXPECT_EQ(found->content, file.content);
            EXPECT_TRUE(found->is_intact());
        }
    EXPECT_FALSE(data.find("b"));
    EXPECT_THROW((void)data.sample(3), shards::Error);
}

TEST(shard_reader, a_sample_may_be_asked_for_ahead) {
    const Packed packed(kShards);
    const shards::Dataset data(packed.path());
    for (size_t number = 0; number < data.size(); ++number) data.prefetch(number);
    EXPECT_EQ(data.sample(1).at(0).content, std::string(3000, 'A'));
    EXPECT_THROW(data.prefetch(3), shards::Error);
}

// RFC 3720, appendix B.4, and Belay's own, which is ISA-L's.
TEST(shard_reader, has_the_checksum_of_everybody) {
    EXPECT_EQ(shards::crc32c(std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(shards::crc32c(std::string(32, '\xff')), 0x62a8ab43U);
    std::string bytes;
    for (int length = 0; length < 70; ++length) {
        EXPECT_EQ(shards::crc32c(bytes), shard::crc32c(bytes)) << length;
        bytes += static_cast<char>(37 * length + 11);
    }
}

TEST(shard_reader, reads_without_the_map) {
    const Packed packed(kShards);
    const shards::Shard shard(packed.path() + "/t\"x-000000.tar");
    const auto record = shard.find("a.jpg").value();
    std::string content(record.content.size(), '\0');
    shard.read(record, content.data());
    EXPECT_EQ(content, std::string(3000, 'A'));
}

TEST(shard_reader, says_what_is_wrong) {
    const Packed packed(kShards);
    auto problem = [&] {
        try {
            const shards::Dataset data(packed.path());
        } catch (const shards::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(problem(), "");
    packed.put("t\"x-000001.tar", "short");
    EXPECT_THAT(problem(), HasSubstr("tar of another size"));
    packed.put("t\"x-000001.idx", "");
    EXPECT_THAT(problem(), HasSubstr("not an index"));
    fs::remove(packed.path() + "/t\"x-000001.tar");
    EXPECT_THAT(problem(), HasSubstr("t\"x-000001.tar: No such file"));
    packed.put("manifest.json", "{}");
    EXPECT_THAT(problem(), HasSubstr("lists no shards"));
}

// Tars of full shards have one size: nothing in an index says of which one it is.
TEST(shard_reader, takes_no_index_of_another_shard) {
    const Packed packed({{{"a.txt", "one", 0}}, {{"b.txt", "two", 0}}});
    fs::copy_file(packed.path() + "/t\"x-000000.idx", packed.path() + "/t\"x-000001.idx",
                  fs::copy_options::overwrite_existing);
    try {
        const shards::Dataset data(packed.path());
        ADD_FAILURE() << data.size();
    } catch (const shards::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("000001.idx: it is not the one that the manifest names"));
    }
}

TEST(shard_reader, has_the_sha256_of_everybody) {
    std::mt19937_64 random(2);
    for (size_t size = 0; size < 300; ++size) {
        std::string bytes(size, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        EXPECT_EQ(shards::detail::Sha256::of(bytes), core::to_hex(core::sha256(bytes))) << size;
    }
}

TEST(shard_reader, says_when_data_are_packed_as_an_image) {
    const Packed packed(kShards);
    Manifest manifest{
        .name = "x", .created = "2026-01-01T00:00:00Z", .tool = "test", .format = Format::kSquashfs};
    manifest.shards.push_back({.path = "x.sqsh", .bytes = 1, .records = 1, .samples = 1, .sha256 = "0"});
    packed.put("manifest.json", encode_manifest(manifest));
    try {
        const shards::Dataset data(packed.path());
        ADD_FAILURE() << data.size();
    } catch (const shards::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("not packed as tar shards, but as squashfs"));
    }
    fs::remove(packed.path() + "/manifest.json");
    try {
        const shards::Dataset data(packed.path());
        ADD_FAILURE() << data.size();
    } catch (const shards::Error& error) {
        EXPECT_EQ(error.code(), ENOENT);
    }
}

// Packed data may be another user's, who must not choose what else is read.
TEST(shard_reader, stays_in_its_directory) {
    const Packed packed(kShards);
    const fs::path directory = packed.path();
    auto problem = [&] {
        try {
            const shards::Dataset data(packed.path());
        } catch (const shards::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string manifest = core::read_file(directory / "manifest.json").value();
    for (const std::string outside : {"/x.tar", "../x.tar", "a/../../x.tar"}) {
        std::string changed = manifest;
        changed.replace(changed.find("t\\\"x-000001.tar"), std::strlen("t\\\"x-000001.tar"), outside);
        packed.put("manifest.json", changed);
        EXPECT_THAT(problem(), HasSubstr("lies outside of the directory")) << outside;
    }
    packed.put("manifest.json", manifest);
    const fs::path shard = directory / "t\"x-000001.tar";
    fs::rename(shard, directory / "elsewhere");
    fs::create_symlink("elsewhere", shard);
    EXPECT_THAT(problem(), HasSubstr("symbolic links"));
    fs::remove(shard);
    ASSERT_EQ(mkfifo(shard.c_str(), 0600), 0);
    EXPECT_THAT(problem(), HasSubstr("is not a regular file"));
}

// Of an index with one bit flipped nothing is believed, and bytes that are not an index never crash.
TEST(shard_reader, believes_no_damaged_index) {
    const Packed packed(kShards);
    const std::string tar = packed.path() + "/t\"x-000000.tar";
    const std::string index = core::read_file(packed.path() + "/t\"x-000000.idx").value();
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = index;
        const size_t bit = random() % (8 * (damaged.size() - 16));
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        packed.put("t\"x-000000.idx", damaged);
        EXPECT_THROW(shards::Shard{tar}, shards::Error) << "bit " << bit;
        packed.put("t\"x-000000.idx", index.substr(0, random() % index.size()));
        EXPECT_THROW(shards::Shard{tar}, shards::Error);
    }
}

}  // namespace
}  // namespace belay::shard
