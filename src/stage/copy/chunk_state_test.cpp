#include "stage/copy/chunk_state.h"

#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

const core::Sha256Digest kPlan = core::sha256("a plan");

ChunkState some_state() {
    ChunkState state(13);
    for (const uint64_t chunk : {0, 3, 8, 12}) state.set(chunk, static_cast<uint32_t>(100 + chunk));
    return state;
}

TEST(stage_copy_state, counts_what_it_holds) {
    ChunkState state(2);
    EXPECT_FALSE(state.is_complete());
    state.set(1, 5);
    state.set(1, 6);
    EXPECT_EQ(state.held(), 1U);
    EXPECT_EQ(state.checksum(1), 6U);
    EXPECT_EQ(state.checksum(0), std::nullopt);
    state.set(0, 0);
    EXPECT_TRUE(state.is_complete());
    state.clear(1);
    EXPECT_EQ(state.held(), 1U);
    EXPECT_TRUE(ChunkState(0).is_complete());
}

TEST(stage_copy_state, is_read_back_as_it_was) {
    for (const uint64_t chunks : {0, 1, 7, 8, 9}) {
        ChunkState state(chunks);
        for (uint64_t i = 0; i < chunks; i += 2) state.set(i, static_cast<uint32_t>(i));
        const std::string bytes = encode_state(state, kPlan);
        EXPECT_LE(bytes.size(), most_state_bytes(chunks));
        EXPECT_EQ(decode_state(bytes, kPlan, chunks).value(), state);
    }
}

TEST(stage_copy_state, of_another_plan_says_nothing) {
    const std::string bytes = encode_state(some_state(), kPlan);
    EXPECT_FALSE(decode_state(bytes, core::sha256("another"), 13));
    EXPECT_FALSE(decode_state(bytes, kPlan, 14));
    EXPECT_FALSE(decode_state(bytes, kPlan, 12));
}

TEST(stage_copy_state, that_was_changed_or_cut_says_nothing) {
    const std::string whole = encode_state(some_state(), kPlan);
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_state(std::string_view(whole).substr(0, size), kPlan, 13)) << size;
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string changed = whole;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        EXPECT_FALSE(decode_state(changed, kPlan, 13)) << bit;
    }
}

// A bit beyond the last chunk, or more bits than checksums.
TEST(stage_copy_state, any_bytes_with_a_right_checksum_are_a_state_or_an_error) {
    const std::string whole = encode_state(some_state(), kPlan);
    const std::string content = whole.substr(0, whole.size() - 4);
    for (size_t bit = 0; bit < content.size() * 8; ++bit) {
        std::string changed = content;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        put_little(changed, shard::crc32c(changed));
        if (const auto state = decode_state(changed, kPlan, 13)) {
            EXPECT_EQ(state->chunks(), 13U);
        }
    }
}

}  // namespace
}  // namespace belay::stage
