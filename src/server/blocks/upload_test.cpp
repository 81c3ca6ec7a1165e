#include "server/blocks/upload.h"

#include "server/blocks/testing.h"
#include "stream/segment_format.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder

TEST(server_blocks, an_upload_says_which_blocks_it_has_and_of_when) {
    const std::string piece = piece_of(3, 7);
    const auto upload = read_upload(piece);
    ASSERT_TRUE(upload) << upload.error().message();
    EXPECT_EQ(upload->session.stream(), session_of().stream());
    EXPECT_EQ(upload->run(), (BlockRun{3, 7}));
    EXPECT_EQ(upload->rows, 4U);
    std::string whole(upload->head);
    for (const UploadedBlock& block : upload->blocks) {
        EXPECT_EQ(block.rows, 1U);
        EXPECT_EQ(block.first_time, kBegan + std::chrono::seconds(block.number));
        EXPECT_EQ(block.last_time, block.first_time);
        whole += block.bytes;
    }
    EXPECT_EQ(whole, piece);
}

TEST(server_blocks, an_upload_of_a_later_file_has_the_numbers_of_the_stream) {
    EXPECT_EQ(read_upload(piece_of(101, 103, "n1", 100))->run(), (BlockRun{101, 103}));
    EXPECT_EQ(read_upload(piece_of(0, 0, "n1", 100))->run(), (BlockRun{100, 101})) << "its session alone";
}

TEST(server_blocks, the_end_of_a_file_is_a_block_too) {
    const std::string piece = piece_of(1, 2) + stream::encode_end(kBegan, 2);
    const auto upload = read_upload(piece);
    ASSERT_TRUE(upload) << upload.error().message();
    ASSERT_EQ(upload->blocks.size(), 2U);
    EXPECT_EQ(upload->blocks[1].rows, 0U);
    EXPECT_FALSE(upload->blocks[1].first_time);
}

TEST(server_blocks, every_byte_of_an_upload_counts) {
    const std::string piece = piece_of(1, 4);
    for (size_t at = stream::kSegmentMagic.size() + 4 + 4; at < piece.size(); ++at) {
        std::string damaged = piece;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        EXPECT_FALSE(read_upload(damaged)) << at;
    }
    const std::string head = stream::encode_head(session_of());
    for (size_t size = 0; size < piece.size(); ++size) {
        const auto upload = read_upload(std::string_view(piece).substr(0, size));
        if (!upload) continue;
        // Cut between blocks, it is an upload of fewer.
        EXPECT_TRUE(size == head.size() || (!upload->blocks.empty() && size > head.size())) << size;
        const char* const end = upload->blocks.empty()
                                    ? piece.data() + head.size()
                                    : upload->blocks.back().bytes.data() + upload->blocks.back().bytes.size();
        EXPECT_EQ(static_cast<size_t>(end - piece.data()), size);
    }
}

TEST(server_blocks, what_is_no_piece_of_a_stream_is_refused) {
    const auto refused = [](const std::string& piece) {
        const auto upload = read_upload(piece);
        return upload ? "taken" : upload.error().message();
    };
    const std::string head = stream::encode_head(session_of());
    EXPECT_THAT(refused(""), HasSubstr("does not begin"));
    EXPECT_THAT(refused("GET / HTTP/1.1"), HasSubstr("does not begin"));
    EXPECT_THAT(refused(head.substr(0, stream::kFileHeaderBytes)), HasSubstr("has no session"));
    EXPECT_THAT(refused(piece_of(2, 3) + piece_of(2, 3).substr(head.size())), HasSubstr("out of order"));
    EXPECT_THAT(refused(head + head.substr(stream::kFileHeaderBytes)), HasSubstr("one session"));
    EXPECT_THAT(refused(piece_of(1, 2) + "x"), HasSubstr("truncated"));
    EXPECT_THAT(refused(piece_of(1, 1, "")), HasSubstr("names no node"));
    EXPECT_THAT(refused(piece_of(1, 1, std::string(300, 'n'))), HasSubstr("more than 255 bytes"));
    const std::string other = piece_of(1, 2, "n2");
    EXPECT_THAT(refused(head + other.substr(stream::encode_head(session_of("n2")).size())),
                HasSubstr("not of the session's node n1"));
}

TEST(server_blocks, any_bytes_are_safe_to_upload) {
    std::mt19937_64 random(11);
    const std::string piece = piece_of(1, 6);
    for (int round = 0; round < 3000; ++round) {
        std::string damaged = piece.substr(0, random() % (piece.size() + 1));
        for (uint64_t i = random() % 8; i > 0 && !damaged.empty(); --i)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        if (round % 3 == 0)
            damaged.insert(random() % (damaged.size() + 1), piece.substr(random() % piece.size()));
        (void)read_upload(damaged);
    }
}

}  // namespace
}  // namespace belay::server
