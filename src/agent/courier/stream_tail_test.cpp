#include "agent/courier/stream_tail.h"

#include "agent/courier/testing.h"

#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using testing::TestSpool;

stream::Cursor beginning(const std::string& boot = "b") {
    return {testing::session_of(0, boot).stream(), 0};
}

struct Followed {
    std::vector<int64_t> rows;
    bool is_at_end = false;
};
Followed follow(StreamTail& tail) {
    Followed followed;
    auto step = tail.step([&](const stream::Batch& batch) {
        for (int64_t row : batch.values(column(schema::kEvent, "task")).integers)
            followed.rows.push_back(row);
    });
    if (!step) ADD_FAILURE() << step.error().message();
    followed.is_at_end = step.value_or(false);
    return followed;
}

TEST(agent_courier, a_tail_hands_on_each_row_of_its_stream_once) {
    TestSpool spool;
    spool.put(1, 4);
    spool.put(1, 9, "a");
    auto tail = StreamTail::open(spool.path(), beginning());
    ASSERT_TRUE(tail);
    EXPECT_EQ(follow(*tail).rows, (std::vector<int64_t>{1, 2, 3}));
    EXPECT_TRUE(follow(*tail).rows.empty());
    spool.put(5, 7);
    EXPECT_EQ(follow(*tail).rows, (std::vector<int64_t>{5, 6}));
    EXPECT_EQ(tail->place().next_block, 7U);
}

TEST(agent_courier, a_tail_goes_on_where_another_one_was) {
    TestSpool spool;
    spool.put(1, 4);
    stream::Cursor from = beginning();
    from.next_block = 3;
    auto tail = StreamTail::open(spool.path(), from);
    ASSERT_TRUE(tail);
    EXPECT_EQ(follow(*tail).rows, (std::vector<int64_t>{3}));
}

TEST(agent_courier, a_step_of_a_tail_has_a_bound) {
    TestSpool spool;
    spool.put(1, 21);
    auto tail = StreamTail::open(spool.path(), beginning(), 1);
    ASSERT_TRUE(tail);
    const Followed first = follow(*tail);
    EXPECT_EQ(first.rows.size(), 16U);
    EXPECT_FALSE(first.is_at_end);
    const Followed second = follow(*tail);
    EXPECT_EQ(second.rows.size(), 4U);
    EXPECT_TRUE(second.is_at_end);
}

TEST(agent_courier, a_tail_passes_over_what_went_before_it_was_read) {
    TestSpool spool;
    spool.put(1, 4);
    auto tail = StreamTail::open(spool.path(), beginning(), 1);
    ASSERT_TRUE(tail);
    spool.remove(0);
    spool.put(5, 7);
    EXPECT_EQ(follow(*tail).rows, (std::vector<int64_t>{5, 6}));
}

}  // namespace
}  // namespace belay::agent
