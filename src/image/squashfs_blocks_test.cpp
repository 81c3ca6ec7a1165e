// Judged by libsquashfs's own block writer and block processor, given the same files.
#include "core/file.h"
#include "image/squashfs_stored.h"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sqfs/block.h>
#include <sqfs/block_processor.h>
#include <sqfs/compressor.h>
#include <sqfs/frag_table.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::image {
namespace {

constexpr uint32_t kBlock = 4096;

// A SquashFS file to be, in a directory of its own.
class Output {
  public:
    Output() : directory_(core::TemporaryDirectory::create().value()) {
        path_ = directory_.path() / "out";
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        file_.emplace(fd_, 0);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() { ::close(fd_); }
    SquashfsFile& file() { return *file_; }
    std::string bytes() const { return core::read_file(path_).value(); }

  private:
    core::TemporaryDirectory directory_;
    std::filesystem::path path_;
    int fd_ = -1;
    std::optional<SquashfsFile> file_;
};

struct Kept {
    std::string bytes;                // of the whole file
    std::vector<std::string> inodes;  // of the files, as they lie in memory
};

std::string taken(sqfs_inode_generic_t* inode) {
    std::string bytes(reinterpret_cast<const char*>(inode),
                      offsetof(sqfs_inode_generic_t, extra) + inode->payload_bytes_used);
    sqfs_free(inode);
    // How much was allocated is not part of the file.
    std::memset(bytes.data() + offsetof(sqfs_inode_generic_t, payload_bytes_available), 0, sizeof(sqfs_u32));
    return bytes;
}

Kept stored(const std::vector<std::string>& contents) {
    Output out;
    SquashfsBlocks blocks(out.file());
    SquashfsStored writer(blocks, kBlock);
    Kept kept;
    for (const std::string& content : contents) {
        sqfs_inode_generic_t* inode = nullptr;
        writer.begin();
        EXPECT_EQ(writer.append(std::string_view(content).substr(0, content.size() / 3)), 0);
        EXPECT_EQ(writer.append(std::string_view(content).substr(content.size() / 3)), 0);
        EXPECT_EQ(writer.end(inode), 0);
        kept.inodes.push_back(taken(inode));
    }
    kept.bytes = out.bytes();
    return kept;
}

// By libsquashfs's block processor, with this block writer, or with its own where there is none.
Kept processed(const std::vector<std::string>& contents, uint32_t flags, bool with_own) {
    Output out;
    SquashfsBlocks blocks(out.file());
    const SquashfsPointer<sqfs_block_writer_t> own(
        with_own ? sqfs_block_writer_create(&out.file().interface, 0, 0) : nullptr);
    sqfs_compressor_config_t configuration;
    sqfs_compressor_t* compressor = nullptr;
    EXPECT_EQ(sqfs_compressor_config_init(&configuration, SQFS_COMP_ZSTD, kBlock, 0), 0);
    EXPECT_EQ(sqfs_compressor_create(&configuration, &compressor), 0);
    const SquashfsPointer<sqfs_compressor_t> freed(compressor);
    const SquashfsPointer<sqfs_frag_table_t> fragments(sqfs_frag_table_create(0));
    sqfs_block_processor_desc_t description{};
    description.size = sizeof description;
    description.max_block_size = kBlock;
    description.num_workers = 1;
    description.max_backlog = 10;
    description.cmp = compressor;
    description.wr = with_own ? own.get() : blocks.interface();
    description.tbl = fragments.get();
    description.file = &out.file().interface;
    sqfs_block_processor_t* processor = nullptr;
    EXPECT_EQ(sqfs_block_processor_create_ex(&description, &processor), 0);
    const SquashfsPointer<sqfs_block_processor_t> ended(processor);
    std::vector<sqfs_inode_generic_t*> inodes(contents.size());
    for (size_t i = 0; i < contents.size(); ++i) {
        EXPECT_EQ(sqfs_block_processor_begin_file(processor, &inodes[i], nullptr, flags), 0);
        if (!contents[i].empty()) {
            EXPECT_EQ(sqfs_block_processor_append(processor, contents[i].data(), contents[i].size()), 0);
        }
        EXPECT_EQ(sqfs_block_processor_end_file(processor), 0);
    }
    EXPECT_EQ(sqfs_block_processor_finish(processor), 0);
    Kept kept;
    for (sqfs_inode_generic_t* inode : inodes) kept.inodes.push_back(taken(inode));
    kept.bytes = out.bytes();
    return kept;
}

// Files of few kinds of blocks, so that files repeat, begin like others, repeat themselves and hold zeros.
std::vector<std::string> made_files(std::mt19937& random) {
    auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
    std::vector<std::string> kinds = {std::string(kBlock, '\0')};
    for (int kind = 0; kind < 3; ++kind) {
        std::string block(kBlock, '\0');
        for (char& byte : block) byte = static_cast<char>(below(256));
        kinds.push_back(block);
    }
    std::vector<std::string> files(1 + below(30));
    for (std::string& file : files) {
        for (size_t blocks = below(6); blocks > 0; --blocks) file += kinds[below(kinds.size())];
        if (below(2) == 0) file += kinds[below(kinds.size())].substr(0, 1 + below(3) * 1000);
    }
    return files;
}

TEST(squashfs_blocks, lie_where_libsquashfs_puts_them) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        const auto files = made_files(random);
        for (const uint32_t flags :
             {uint32_t{SQFS_BLK_DONT_COMPRESS | SQFS_BLK_DONT_FRAGMENT}, uint32_t{SQFS_BLK_DONT_FRAGMENT}}) {
            const Kept wanted = processed(files, flags, true), seen = processed(files, flags, false);
            ASSERT_EQ(seen.bytes, wanted.bytes) << "round " << round;
            ASSERT_EQ(seen.inodes, wanted.inodes) << "round " << round;
        }
    }
}

TEST(squashfs_blocks, stored_files_are_what_the_block_processor_makes_of_them) {
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round) {
        const auto files = made_files(random);
        const Kept wanted = processed(files, SQFS_BLK_DONT_COMPRESS | SQFS_BLK_DONT_FRAGMENT, true);
        const Kept seen = stored(files);
        ASSERT_EQ(seen.bytes, wanted.bytes) << "round " << round;
        ASSERT_EQ(seen.inodes, wanted.inodes) << "round " << round;
    }
}

// Equal checksums do not make equal blocks: the bytes decide. Both words have this CRC-32.
TEST(squashfs_blocks, of_the_same_checksum_are_compared) {
    Output out;
    SquashfsBlocks blocks(out.file());
    const std::string first = "plumless", second = "buckeroo", third = "plumless";
    constexpr uint32_t kAlone = SQFS_BLK_FIRST_BLOCK | SQFS_BLK_LAST_BLOCK;
    uint64_t place = 0;
    ASSERT_EQ(blocks.write(first.data(), 8, 0x4ddb0c25, kAlone, place), 0);
    EXPECT_EQ(place, 0U);
    ASSERT_EQ(blocks.write(second.data(), 8, 0x4ddb0c25, kAlone, place), 0);
    EXPECT_EQ(place, 8U);
    ASSERT_EQ(blocks.write(third.data(), 8, 0x4ddb0c25, kAlone, place), 0);
    EXPECT_EQ(place, 0U);
    EXPECT_EQ(out.bytes(), first + second);
}

}  // namespace
}  // namespace belay::image
