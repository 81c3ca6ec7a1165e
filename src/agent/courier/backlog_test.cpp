#include "agent/courier/backlog.h"

#include "agent/courier/testing.h"

#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::seconds;
using testing::kBegan;
using testing::TestSpool;

SpoolUse use_of(Backlog& backlog, const std::optional<ShipStanding>& standing) {
    auto use = backlog.look(standing);
    if (!use) ADD_FAILURE() << use.error().message();
    return use.value_or(SpoolUse());
}

ShipStanding sent_up_to(uint64_t next, const std::string& boot = "b") {
    return {.next = {{testing::session_of(0, boot).stream(), next}}, .not_ours = {}};
}

uint64_t bytes_of(const TestSpool& spool, uint64_t first) {
    return std::filesystem::file_size(spool.file_of(first));
}

TEST(agent_courier, what_waits_is_all_behind_what_was_sent) {
    TestSpool spool;
    spool.put(1, 4);
    spool.put(5, 8);
    auto backlog = Backlog::open(spool.path());
    ASSERT_TRUE(backlog);
    const uint64_t all = bytes_of(spool, 0) + bytes_of(spool, 4);

    const SpoolUse nothing_sent = use_of(*backlog, ShipStanding());
    EXPECT_EQ(nothing_sent.files, 2U);
    EXPECT_EQ(nothing_sent.bytes, all);
    EXPECT_EQ(nothing_sent.waiting_bytes, all);
    EXPECT_EQ(nothing_sent.oldest, kBegan + seconds(1));

    uint64_t before = 0;
    for (uint64_t next : {8U, 7U, 6U}) {
        const SpoolUse use = use_of(*backlog, sent_up_to(next));
        EXPECT_EQ(use.waiting_bytes > before, next < 8U) << next;
        EXPECT_EQ(use.oldest, next < 8U ? std::optional(kBegan + seconds(next)) : std::nullopt) << next;
        EXPECT_LT(use.waiting_bytes, bytes_of(spool, 4));
        before = use.waiting_bytes;
    }
    EXPECT_EQ(use_of(*backlog, sent_up_to(5)).waiting_bytes, bytes_of(spool, 4)) << "with its session";
    EXPECT_EQ(use_of(*backlog, sent_up_to(4)).waiting_bytes, bytes_of(spool, 4));
    TestSpool shorter;
    shorter.put(1, 3);
    EXPECT_EQ(use_of(*backlog, sent_up_to(3)).waiting_bytes, all - bytes_of(shorter, 0)) << "the block 3";
    EXPECT_EQ(use_of(*backlog, sent_up_to(8)).waiting_bytes, 0U);
}

TEST(agent_courier, what_belayd_does_not_take_does_not_wait) {
    TestSpool spool;
    spool.put(1, 4);
    spool.put(1, 4, "a");
    auto backlog = Backlog::open(spool.path());
    ASSERT_TRUE(backlog);
    ShipStanding standing = sent_up_to(4);
    EXPECT_GT(use_of(*backlog, standing).waiting_bytes, 0U) << "nothing of the other one is known";
    standing.not_ours.insert(testing::session_of(0, "a").stream());
    EXPECT_EQ(use_of(*backlog, standing).waiting_bytes, 0U);
}

TEST(agent_courier, without_a_server_nothing_waits) {
    TestSpool spool;
    spool.put(1, 4);
    std::ofstream(spool.path() / "note.seg") << "not a stream";
    auto backlog = Backlog::open(spool.path());
    ASSERT_TRUE(backlog);
    const SpoolUse use = use_of(*backlog, std::nullopt);
    EXPECT_EQ(use.files, 1U);
    EXPECT_EQ(use.bytes, bytes_of(spool, 0));
    EXPECT_EQ(use.waiting_bytes, 0U);
    EXPECT_FALSE(use.oldest);
}

TEST(agent_courier, a_file_that_grows_waits_for_what_it_got) {
    TestSpool spool;
    spool.put(1, 4);
    auto backlog = Backlog::open(spool.path());
    ASSERT_TRUE(backlog);
    EXPECT_EQ(use_of(*backlog, sent_up_to(4)).waiting_bytes, 0U);
    const uint64_t before = bytes_of(spool, 0);
    std::ofstream(spool.file_of(0), std::ios::app) << std::string(10, 'x');  // half a block
    EXPECT_EQ(use_of(*backlog, sent_up_to(4)).waiting_bytes, 10U);
    spool.put(1, 6);  // the same file, longer
    EXPECT_EQ(use_of(*backlog, sent_up_to(4)).waiting_bytes, bytes_of(spool, 0) - before);
}

}  // namespace
}  // namespace belay::agent
