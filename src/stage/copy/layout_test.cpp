#include "stage/copy/layout.h"

#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CopyPlan plan_of(std::vector<std::pair<std::string, uint64_t>> files, CopyKind kind = CopyKind::kTree) {
    CopyPlan plan{.kind = kind, .chunk_bytes = kLeastChunk};
    for (auto& [path, bytes] : files)
        plan.files.push_back(
            {.path = path, .bytes = bytes, .modified = -5, .inode = 7, .executable = bytes % 2 == 1});
    return plan;
}

TEST(stage_copy_layout, a_chunk_holds_small_files_and_parts_of_large_ones) {
    const CopyLayout layout(plan_of({{"a", 1000}, {"b", 0}, {"c", 2 * kLeastChunk}, {"d", 1}}));
    ASSERT_EQ(layout.chunks(), 3U);
    EXPECT_THAT(layout.segments(0), ElementsAre(Segment{0, 0, 1000}, Segment{2, 0, kLeastChunk - 1000}));
    EXPECT_THAT(layout.segments(1), ElementsAre(Segment{2, kLeastChunk - 1000, kLeastChunk}));
    EXPECT_THAT(layout.segments(2), ElementsAre(Segment{2, 2 * kLeastChunk - 1000, 1000}, Segment{3, 0, 1}));
    EXPECT_EQ(layout.bytes_of(1), kLeastChunk);
    EXPECT_EQ(layout.bytes_of(2), 1001U);
}

TEST(stage_copy_layout, a_set_of_empty_files_has_no_chunks) {
    EXPECT_EQ(CopyLayout(plan_of({{"a", 0}, {"b", 0}})).chunks(), 0U);
}

TEST(stage_copy_layout, a_chunk_that_begins_with_empty_files_does_not_hold_them) {
    const CopyLayout layout(plan_of({{"a", kLeastChunk}, {"b", 0}, {"c", 0}, {"d", 5}}));
    EXPECT_THAT(layout.segments(1), ElementsAre(Segment{3, 0, 5}));
}

TEST(stage_copy_layout, every_byte_is_in_one_chunk) {
    std::vector<std::pair<std::string, uint64_t>> files;
    for (int i = 0; i < 300; ++i)
        files.emplace_back(fmt::format("{:04}", i), static_cast<uint64_t>(i) * i * 37 % 9000);
    const CopyLayout layout(plan_of(files));
    std::vector<uint64_t> next(files.size(), 0);
    for (uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
        uint64_t bytes = 0;
        for (const Segment& segment : layout.segments(chunk)) {
            EXPECT_EQ(segment.offset, next[segment.file]);
            next[segment.file] += segment.bytes;
            bytes += segment.bytes;
        }
        EXPECT_EQ(bytes, layout.bytes_of(chunk));
    }
    for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(next[i], files[i].second);
}

TEST(stage_copy_layout, a_plan_is_read_back_as_it_was) {
    const CopyPlan plan = plan_of({{"a/b", 3}, {"a/c", 4}, {"\xff", 0}});
    EXPECT_EQ(decode_plan(encode_plan(plan)).value(), plan);
}

TEST(stage_copy_layout, a_plan_that_was_changed_or_cut_is_none) {
    const std::string whole = encode_plan(plan_of({{"a/b", 3}, {"c", 4}}));
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_plan(std::string_view(whole).substr(0, size))) << size;
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string changed = whole;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        EXPECT_FALSE(decode_plan(changed)) << bit;
    }
}

// Behind the checksum nothing is believed either.
TEST(stage_copy_layout, any_bytes_with_a_right_checksum_are_a_plan_or_an_error) {
    const std::string whole = encode_plan(plan_of({{"a/b", 3}, {"c", 4}}));
    const std::string content = whole.substr(0, whole.size() - 4);
    for (size_t i = 0; i < content.size(); ++i)
        for (const int byte : {0, 1, 0x2f, 0x7f, 0xff}) {
            std::string changed = content;
            changed[i] = static_cast<char>(byte);
            put_little(changed, shard::crc32c(changed));
            if (const auto plan = decode_plan(changed)) {
                EXPECT_TRUE(check_plan(*plan));
            }
        }
}

TEST(stage_copy_layout, names_that_lead_elsewhere_or_are_the_copys_own_are_refused) {
    for (const char* path : {"../a", "/a", "a//b", "a/..", "", ".belay-copy", ".belay-copy-x/0"})
        EXPECT_FALSE(check_plan(plan_of({{path, 1}}))) << path;
    EXPECT_TRUE(check_plan(plan_of({{"a/.belay-copy", 1}})));
    EXPECT_FALSE(check_plan(plan_of({{"a", 1}, {"a", 1}})));
    EXPECT_FALSE(check_plan(plan_of({{"b", 1}, {"a", 1}})));
    EXPECT_FALSE(check_plan(plan_of({{"a/b", 1}}, CopyKind::kFile)));
    EXPECT_FALSE(check_plan(plan_of({})));
}

TEST(stage_copy_layout, sizes_that_cannot_be_are_refused) {
    EXPECT_FALSE(check_plan(plan_of({{"a", UINT64_MAX}, {"b", 1}})));
    const auto too_many = check_plan(plan_of({{"a", kMostChunks * kLeastChunk}}));
    ASSERT_FALSE(too_many);
    EXPECT_THAT(too_many.error().hint_text(), HasSubstr("--chunk"));
    CopyPlan tiny = plan_of({{"a", 1}});
    tiny.chunk_bytes = 1;
    EXPECT_FALSE(check_plan(tiny));
}

TEST(stage_copy_layout, chunks_grow_with_what_is_copied_so_that_there_are_not_too_many) {
    constexpr uint64_t kMost = kUsualChunk * kMostChunks / 2;
    EXPECT_EQ(usual_chunk_bytes(0), kUsualChunk);
    EXPECT_EQ(usual_chunk_bytes(kMost - 1), kUsualChunk);
    EXPECT_EQ(usual_chunk_bytes(kMost), 2 * kUsualChunk);
    EXPECT_EQ(usual_chunk_bytes(uint64_t{100} << 40), kMostChunk);
    EXPECT_EQ(usual_chunk_bytes(std::numeric_limits<uint64_t>::max()), kMostChunk);
}

TEST(stage_copy_layout, another_size_time_inode_or_chunk_is_another_plan) {
    const CopyPlan plan = plan_of({{"a", 3}});
    std::vector<CopyPlan> others(4, plan);
    others[0].files[0].bytes = 4;
    others[1].files[0].modified = 4;
    others[2].files[0].inode = 4;
    others[3].chunk_bytes = 2 * kLeastChunk;
    for (const CopyPlan& other : others) EXPECT_NE(encode_plan(other), encode_plan(plan));
}

}  // namespace
}  // namespace belay::stage
