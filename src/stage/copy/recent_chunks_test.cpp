#include "stage/copy/recent_chunks.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

ChunkBuffer buffer_of(char letter, size_t bytes) {
    ChunkBuffer buffer;
    buffer.resize(bytes);
    std::ranges::fill_n(buffer.data(), static_cast<std::ptrdiff_t>(bytes), letter);
    return buffer;
}

constexpr size_t kThird = RecentChunks::kMostBytes / 3;

TEST(stage_copy_recent_chunks, what_came_last_is_there_behind_what_is_skipped) {
    RecentChunks recent;
    ChunkBuffer content = buffer_of('a', 10);
    recent.keep(7, content, 4);
    EXPECT_EQ(content.size(), 0U) << "its memory was taken";
    ASSERT_TRUE(recent.find(7));
    EXPECT_EQ(recent.find(7)->view(), "aaaaaa");
    EXPECT_FALSE(recent.find(8));
}

TEST(stage_copy_recent_chunks, the_oldest_gives_way_and_its_memory_is_used_again) {
    RecentChunks recent;
    for (const char chunk : {0, 1, 2}) {
        ChunkBuffer content = buffer_of(chunk, kThird);
        recent.keep(static_cast<uint64_t>(chunk), content, 0);
    }
    const char* oldest = recent.find(0)->view().data();
    ChunkBuffer content = buffer_of(3, kThird);
    recent.keep(3, content, 0);
    EXPECT_FALSE(recent.find(0));
    EXPECT_TRUE(recent.find(1));
    EXPECT_EQ(content.data(), oldest);
}

TEST(stage_copy_recent_chunks, what_is_being_sent_keeps_its_content_when_it_gives_way) {
    RecentChunks recent;
    ChunkBuffer content = buffer_of('a', RecentChunks::kMostBytes);
    recent.keep(0, content, 0);
    const auto sent = recent.find(0);
    content = buffer_of('b', RecentChunks::kMostBytes);
    recent.keep(1, content, 0);
    EXPECT_FALSE(recent.find(0));
    EXPECT_EQ(content.size(), 0U);
    EXPECT_EQ(sent->view(), std::string(RecentChunks::kMostBytes, 'a'));
}

TEST(stage_copy_recent_chunks, one_larger_than_the_room_stays_where_it_was) {
    RecentChunks recent;
    ChunkBuffer content = buffer_of('a', RecentChunks::kMostBytes + 1);
    recent.keep(0, content, 0);
    EXPECT_FALSE(recent.find(0));
    EXPECT_EQ(content.size(), RecentChunks::kMostBytes + 1);
}

}  // namespace
}  // namespace belay::stage
