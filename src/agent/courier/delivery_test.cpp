#include "agent/courier/delivery.h"

#include "agent/courier/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Said = ShipAnswer::Verdict;

// A delivery whose server is a function, on a clock that stands still.
class Delivering {
  public:
    explicit Delivering(const ShipOptions& ship = {})
        : delivery_(options(ship), sender(), asker(), teller(), clock) {}

    testing::TestSpool spool;
    core::ManualClock clock{testing::kBegan};
    ShipAnswer answer{.verdict = Said::kStored, .blocks = 1};
    bool may_try_now = false;
    std::vector<int64_t> rows;
    std::vector<std::string> notes;
    int calls = 0;

    // In how many milliseconds it wants to be called again; -1: never.
    int64_t step() {
        auto next = delivery_.step();
        return next ? std::chrono::duration_cast<milliseconds>(*next).count() : -1;
    }
    Delivery& delivery() { return delivery_; }

  private:
    DeliveryOptions options(const ShipOptions& ship) const {
        return {.spool = spool.path(), .host = "h", .ship = ship, .random = [] { return 1.0; }};
    }
    ShipPiece sender() {
        return [this](const stream::Piece& piece) {
            ++calls;
            if (answer.verdict == Said::kStored)
                for (int64_t row : testing::rows_of(piece.bytes)) rows.push_back(row);
            return answer;
        };
    }
    std::function<bool()> asker() {
        return [this] { return may_try_now; };
    }
    Delivery::Tell teller() {
        return [this](const Note& note) { notes.emplace_back(row_of(note.kind).name); };
    }

    Delivery delivery_;  // the last member: it uses the others
};

TEST(agent_courier, a_delivery_makes_a_round_when_one_is_due) {
    Delivering delivering({.when_idle = seconds(5)});
    EXPECT_FALSE(delivering.delivery().standing());
    delivering.spool.put(1, 4);
    EXPECT_EQ(delivering.step(), 5000);
    EXPECT_THAT(delivering.rows, ElementsAre(1, 2, 3));
    delivering.spool.put(5, 6);
    delivering.clock.advance(seconds(2));
    EXPECT_EQ(delivering.step(), 3000) << "it was woken, and nothing is due";
    EXPECT_EQ(delivering.rows.size(), 3U);
    delivering.clock.advance(seconds(3));
    EXPECT_EQ(delivering.step(), 5000);
    EXPECT_EQ(delivering.rows.size(), 4U);
    const DeliveryCounts counts = delivering.delivery().counts();
    EXPECT_EQ(counts.pieces, 2U);
    EXPECT_EQ(counts.blocks, 2U);
    EXPECT_GT(counts.bytes, 0U);
    EXPECT_EQ(counts.is_up, true);
    EXPECT_EQ(delivering.delivery().standing()->next.begin()->second, 6U);
    EXPECT_THAT(delivering.notes, IsEmpty());
}

TEST(agent_courier, after_a_failure_a_delivery_waits_or_is_asked_to_try) {
    Delivering delivering;
    delivering.spool.put(1, 4);
    delivering.answer = {.verdict = Said::kLater, .after = seconds(300), .why = "no"};
    EXPECT_EQ(delivering.step(), 1000);
    for (int i = 0; i < 100; ++i) {
        delivering.clock.advance(seconds(1));
        delivering.step();
    }
    EXPECT_EQ(delivering.calls, 1);
    EXPECT_EQ(delivering.delivery().counts().failures, 1U);
    EXPECT_EQ(delivering.delivery().counts().is_up, false);
    delivering.answer = {.verdict = Said::kStored};
    delivering.may_try_now = true;
    delivering.step();
    EXPECT_EQ(delivering.calls, 2);
    EXPECT_EQ(delivering.delivery().counts().is_up, true);
    EXPECT_THAT(delivering.notes, ElementsAre("away", "back"));
}

TEST(agent_courier, at_the_end_all_is_sent_without_a_pause) {
    Delivering delivering({.piece_bytes = 1, .most_pieces = 2, .when_idle = seconds(5)});
    delivering.step();
    delivering.spool.put(1, 8);
    delivering.delivery().end();
    int steps = 0;
    while (delivering.step() >= 0 && steps < 100) ++steps;
    EXPECT_TRUE(delivering.delivery().is_done());
    EXPECT_EQ(delivering.rows.size(), 7U);
}

TEST(agent_courier, at_the_end_a_server_that_is_away_is_tried_once) {
    Delivering delivering;
    delivering.spool.put(1, 4);
    delivering.answer = {.verdict = Said::kLater, .why = "no"};
    delivering.step();
    delivering.delivery().end();
    EXPECT_EQ(delivering.step(), -1);
    EXPECT_EQ(delivering.calls, 2);
    EXPECT_EQ(delivering.step(), -1);
    EXPECT_EQ(delivering.calls, 2);
}

TEST(agent_courier, a_spool_that_cannot_be_read_is_tried_again) {
    Delivering delivering;
    const std::filesystem::path away = delivering.spool.path().string() + ".away";
    std::filesystem::rename(delivering.spool.path(), away);
    EXPECT_EQ(delivering.step(), 1000);
    EXPECT_THAT(delivering.notes, ElementsAre("words"));
    std::filesystem::rename(away, delivering.spool.path());
    delivering.spool.put(1, 3);
    delivering.clock.advance(seconds(10));
    delivering.step();
    EXPECT_THAT(delivering.rows, ElementsAre(1, 2));
}

}  // namespace
}  // namespace belay::agent
