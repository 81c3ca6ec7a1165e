#include "stage/copy/wire.h"

#include "stage/copy/layout.h"

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

StartOrder some_order() {
    return {.plan = core::sha256("a plan"),
            .plan_bytes = 5000,
            .chunk_bytes = kUsualChunk,
            .rate = 7,
            .mark = "root-1",
            .ancestors = {{.rank = 3, .address = "10.0.0.3", .port = 40000}, {.rank = 0, .port = 65535}}};
}

TEST(stage_copy_wire, messages_are_read_back_as_they_were) {
    EXPECT_EQ(decode_join(encode_join(40000)).value(), 40000);
    EXPECT_EQ(decode_start(encode_start(some_order())).value(), some_order());
    EXPECT_EQ(decode_number(encode_number(UINT64_MAX)).value(), UINT64_MAX);
    const CopyFigures figures{
        .received_bytes = 1, .resumed_chunks = 2, .refetched = 3, .elapsed = std::chrono::seconds(4)};
    EXPECT_EQ(decode_figures(encode_figures(figures)).value(), figures);
    const ChunkHead head{.chunk = 9, .checksum = 10};
    EXPECT_EQ(decode_chunk_head(encode_chunk_head(head) + "content").value(), head);
}

TEST(stage_copy_wire, what_is_cut_or_too_long_is_no_message) {
    const std::string start = encode_start(some_order());
    for (size_t size = 0; size < start.size(); ++size)
        EXPECT_FALSE(decode_start(std::string_view(start).substr(0, size))) << size;
    EXPECT_FALSE(decode_start(start + "x"));
    EXPECT_FALSE(decode_join("abc"));
    EXPECT_FALSE(decode_join(std::string(4, '\0'))) << "port 0";
    EXPECT_FALSE(decode_join(std::string(4, '\xff')));
    EXPECT_FALSE(decode_number("1234567"));
    EXPECT_FALSE(decode_figures(std::string(32, '\xff'))) << "a time that does not exist";
    EXPECT_FALSE(decode_chunk_head("short"));
}

// Its content may be whole, and would be written to the place of another.
TEST(stage_copy_wire, a_changed_number_of_a_chunk_is_noticed) {
    const std::string head = encode_chunk_head({.chunk = 9, .checksum = 10});
    for (size_t bit = 0; bit < head.size() * 8; ++bit) {
        std::string changed = head;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        EXPECT_FALSE(decode_chunk_head(changed)) << bit;
    }
}

TEST(stage_copy_wire, any_bytes_are_an_order_or_an_error) {
    const std::string start = encode_start(some_order());
    for (size_t i = 0; i < start.size(); ++i)
        for (const int byte : {0, 1, 0x7f, 0xff}) {
            std::string changed = start;
            changed[i] = static_cast<char>(byte);
            if (const auto order = decode_start(changed)) {
                EXPECT_FALSE(order->ancestors.empty());
            }
        }
    StartOrder huge = some_order();
    huge.plan_bytes = kMostPlanBytes + 1;
    EXPECT_FALSE(decode_start(encode_start(huge)));
    huge = some_order();
    huge.chunk_bytes = kMostChunk + 1;
    EXPECT_FALSE(decode_start(encode_start(huge)));
}

}  // namespace
}  // namespace belay::stage
