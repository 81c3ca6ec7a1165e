#include "agent/courier/delivery_teller.h"

#include "agent/courier/testing.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ShipRound kFailedRound{.failed = true, .why = "cannot reach h: Connection refused", .errno_value = 111};
const ShipRound kGoodRound{.pieces = 1, .blocks = 4, .bytes = 100};
const ShipRound kIdleRound{};

TEST(agent_courier, an_outage_is_told_at_its_beginning_and_at_its_end) {
    DeliveryTeller teller("h:8443");
    EXPECT_THAT(teller.after(kGoodRound, seconds(0)), IsEmpty());
    const auto begin = teller.after(kFailedRound, seconds(10));
    ASSERT_EQ(begin.size(), 1U);
    EXPECT_EQ(begin[0].kind, NoteKind::kAway);
    EXPECT_EQ(begin[0].subject, "h:8443");
    EXPECT_EQ(begin[0].code, 111);
    EXPECT_EQ(begin[0].value, 0) << "nothing is lost";
    EXPECT_THAT(begin[0].message, HasSubstr("wait in the spool: cannot reach h"));
    for (int i = 11; i < 70; ++i) EXPECT_THAT(teller.after(kFailedRound, seconds(i)), IsEmpty());
    EXPECT_THAT(teller.after(kIdleRound, seconds(70)), IsEmpty()) << "that shows nothing";
    const auto end = teller.after(kGoodRound, seconds(75));
    ASSERT_EQ(end.size(), 1U);
    EXPECT_EQ(end[0].kind, NoteKind::kBack);
    EXPECT_EQ(end[0].value, 65);
    EXPECT_THAT(teller.after(kGoodRound, seconds(76)), IsEmpty());
}

TEST(agent_courier, a_server_that_comes_and_goes_is_told_once_in_a_while) {
    DeliveryTeller teller("h", minutes(10));
    size_t notes = 0;
    for (int second = 0; second < 3600; second += 2) {
        notes += teller.after(kFailedRound, seconds(second)).size();
        notes += teller.after(kGoodRound, seconds(second + 1)).size();
    }
    EXPECT_EQ(notes, 12U) << "six times in an hour, with its end";
}

TEST(agent_courier, what_is_lost_is_added_up_and_told_once_in_a_while) {
    DeliveryTeller teller("h", minutes(10));
    const auto first = teller.after({.gone_blocks = 3}, seconds(0));
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].kind, NoteKind::kGone);
    EXPECT_EQ(first[0].value, 3);
    EXPECT_EQ(first[0].message, "3 blocks left the spool unsent");
    EXPECT_THAT(teller.after({.gone_blocks = 4}, seconds(60)), IsEmpty());
    EXPECT_THAT(teller.after({.gone_blocks = 5}, seconds(120)), IsEmpty());
    const auto second = teller.after(kIdleRound, seconds(600));
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].value, 9);
    EXPECT_THAT(teller.after(kIdleRound, seconds(1300)), IsEmpty());
    EXPECT_THAT(teller.after({.gone_blocks = 1}, seconds(1400)).size(), 1U);
    EXPECT_THAT(teller.after({.gone_blocks = 2}, seconds(1401)), IsEmpty());
    const auto last = teller.last_words();
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].value, 2);
    EXPECT_THAT(teller.last_words(), IsEmpty());
}

TEST(agent_courier, each_loss_is_told_of_what_it_is) {
    DeliveryTeller teller("h:8443");
    const auto notes =
        teller.after({.refused_pieces = 1,
                      .gone_streams = 1,
                      .lost = {{.file = "a.seg", .offset = 5, .bytes = 70, .reason = "checksum mismatch"}},
                      .not_ours = {testing::session_of().stream()},
                      .why = "h:8443 refuses blocks with 422"},
                     seconds(0));
    ASSERT_EQ(notes.size(), 4U);
    EXPECT_EQ(notes[0].kind, NoteKind::kRefused);
    EXPECT_EQ(notes[0].message, "1 piece of a stream will never be taken: h:8443 refuses blocks with 422");
    EXPECT_EQ(notes[1].message, "a stream left the spool before all of it was sent");
    EXPECT_FALSE(notes[1].value) << "it is not known how many blocks";
    EXPECT_EQ(notes[2].kind, NoteKind::kDamaged);
    EXPECT_EQ(notes[2].value, 70);
    EXPECT_EQ(notes[2].message, "a.seg: checksum mismatch");
    EXPECT_EQ(notes[3].kind, NoteKind::kNotOurs);
    EXPECT_THAT(notes[3].subject, HasSubstr("n1"));
}

TEST(agent_courier, a_spool_that_cannot_be_read_is_told_once_in_a_while) {
    DeliveryTeller teller("h", minutes(10));
    const core::Error error = core::errno_error(EIO, "cannot read x.seg").error();
    EXPECT_EQ(teller.after(error, seconds(0)).size(), 1U);
    EXPECT_THAT(teller.after(error, seconds(5)), IsEmpty());
    EXPECT_EQ(teller.after(error, minutes(10)).size(), 1U);
}

}  // namespace
}  // namespace belay::agent
