#include "agent/courier/shipper.h"

#include "agent/courier/testing.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = ShipAnswer::Verdict;

// What belayd has of all streams: the rows' numbers.
class Server {
  public:
    ShipAnswer take(const stream::Piece& piece) {
        ++calls;
        sizes.push_back(piece.bytes.size());
        if (!answers.empty()) {
            ShipAnswer answer = answers.front();
            answers.erase(answers.begin());
            if (answer.verdict != Verdict::kStored) return answer;
        }
        const auto summary =
            stream::read_segment_bytes(piece.bytes, "piece", [&](const stream::Batch& batch) {
                for (int64_t row : batch.values(column(schema::kEvent, "task")).integers) rows.push_back(row);
            });
        EXPECT_TRUE(summary && summary->whole());
        sessions.push_back(summary->session->boot);
        return {.verdict = Verdict::kStored, .next_block = has_up_to, .blocks = summary->rows};
    }

    std::vector<int64_t> rows;
    std::vector<std::string> sessions;
    std::vector<size_t> sizes;        // of all pieces
    std::vector<ShipAnswer> answers;  // to the next pieces; then all are stored
    uint64_t has_up_to = 0;
    int calls = 0;
};

class Spool : public testing::TestSpool {
  public:
    Shipper shipper(Server& server, const ShipOptions& options = {}, double random = 1) const {
        auto opened = Shipper::open(
            path(), [&](const stream::Piece& piece) { return server.take(piece); },
            [random] { return random; }, options);
        if (!opened) ADD_FAILURE() << opened.error().message();
        return std::move(*opened);
    }
};

ShipRound round_of(Shipper& shipper) {
    auto round = shipper.round();
    if (!round) ADD_FAILURE() << round.error().message();
    return round.value_or(ShipRound());
}
std::vector<int64_t> numbers(int64_t from, int64_t to) {
    std::vector<int64_t> all;
    for (int64_t i = from; i < to; ++i) all.push_back(i);
    return all;
}

TEST(agent_courier, a_spool_is_sent_once_and_what_comes_later_too) {
    Spool spool;
    Server server;
    spool.put(1, 5);
    Shipper shipper = spool.shipper(server);
    EXPECT_EQ(round_of(shipper).pieces, 1U);
    EXPECT_EQ(round_of(shipper).pieces, 0U);
    spool.put(6, 9);
    const ShipRound round = round_of(shipper);
    EXPECT_EQ(round.wait, seconds(1));
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 2, 3, 4, 6, 7, 8}));
}

TEST(agent_courier, an_agent_that_was_started_again_sends_nothing_twice) {
    Spool spool;
    Server server;
    spool.put(1, 5);
    for (int i = 0; i < 3; ++i) {
        Shipper shipper = spool.shipper(server);
        round_of(shipper);
    }
    EXPECT_EQ(server.rows, numbers(1, 5));
    fs::remove(spool.path() / "acknowledged");
    server.has_up_to = 5;
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1});
    round_of(shipper);
    EXPECT_EQ(server.calls, 2) << "one piece is sent again; the answer says what belayd has";
}

TEST(agent_courier, what_could_not_be_sent_is_sent_later) {
    Spool spool;
    Server server;
    spool.put(1, 5);
    server.answers = {{.verdict = Verdict::kLater, .why = "belayd: its disk is full"},
                      {.verdict = Verdict::kLater, .after = seconds(90)},
                      {.verdict = Verdict::kLater}};
    Shipper shipper = spool.shipper(server);
    const ShipRound first = round_of(shipper);
    EXPECT_EQ(first.why, "belayd: its disk is full");
    EXPECT_EQ(first.wait, seconds(1));
    EXPECT_EQ(round_of(shipper).wait, seconds(90)) << "as it asked";
    EXPECT_EQ(round_of(shipper).wait, seconds(4));
    EXPECT_EQ(round_of(shipper).pieces, 1U);
    server.answers = {{.verdict = Verdict::kLater}};
    spool.put(6, 7);
    EXPECT_EQ(round_of(shipper).wait, seconds(1)) << "delays begin anew";
    round_of(shipper);
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 2, 3, 4, 6}));
}

TEST(agent_courier, delays_have_a_bound_and_differ_among_agents) {
    Spool spool;
    Server server;
    spool.put(1, 2);
    for (int i = 0; i < 200; ++i) server.answers.push_back({.verdict = Verdict::kLater});
    Shipper calm = spool.shipper(server), hasty = spool.shipper(server, {}, 0);
    for (int i = 0; i < 90; ++i) {
        const core::Duration longest = round_of(calm).wait, shortest = round_of(hasty).wait;
        EXPECT_LE(longest, seconds(60));
        EXPECT_EQ(shortest, longest / 2);
    }
}

TEST(agent_courier, a_piece_that_belayd_will_never_take_is_passed_over) {
    Spool spool;
    Server server;
    spool.put(1, 4);
    server.answers = {{.verdict = Verdict::kStored},
                      {.verdict = Verdict::kRefused, .why = "the upload: at byte 7: …"}};
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1});
    const ShipRound round = round_of(shipper);
    EXPECT_EQ(round.refused_pieces, 1U);
    EXPECT_THAT(round.why, HasSubstr("at byte 7"));
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 3}));
}

TEST(agent_courier, pieces_are_smaller_after_failures_and_grow_again) {
    Spool spool;
    Server server;
    spool.put(1, 200);
    const size_t all = fs::file_size(spool.file_of(0));
    Shipper shipper = spool.shipper(server, {.piece_bytes = all, .least_piece_bytes = all / 4});
    server.answers.assign(4, {.verdict = Verdict::kLater});
    for (int i = 0; i < 4; ++i) round_of(shipper);
    EXPECT_EQ(server.sizes.front(), all);
    EXPECT_LT(server.sizes.at(1), all * 6 / 10);
    EXPECT_LT(server.sizes.at(2), all * 4 / 10);
    EXPECT_EQ(server.sizes.at(3), server.sizes.at(2)) << "no smaller";
    server.sizes.clear();
    const ShipRound round = round_of(shipper);
    EXPECT_EQ(server.rows, numbers(1, 200));
    EXPECT_LE(round.pieces, 4U);
    EXPECT_GT(server.sizes.at(1), server.sizes.at(0));
}

TEST(agent_courier, of_a_piece_that_was_refused_only_the_block_is_lost_that_is_refused_alone) {
    Spool spool;
    Server server;
    spool.put(1, 6);
    server.answers = {{.verdict = Verdict::kRefused, .why = "a proxy: too large"},
                      {.verdict = Verdict::kStored},
                      {.verdict = Verdict::kRefused, .why = "this block"}};
    Shipper shipper = spool.shipper(server);
    const ShipRound round = round_of(shipper);
    EXPECT_EQ(round.refused_pieces, 1U);
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 3, 4, 5}));
    spool.put(7, 9);
    server.calls = 0;
    round_of(shipper);
    EXPECT_EQ(server.calls, 1) << "later ones are sent together again";
}

TEST(agent_courier, a_stream_of_another_writer_does_not_hold_up_the_others) {
    Spool spool;
    Server server;
    spool.put(1, 3, "a");
    spool.put(1, 3, "b");
    server.answers = {{.verdict = Verdict::kNotOurs, .why = "another writer uses its name"}};
    Shipper shipper = spool.shipper(server);
    EXPECT_EQ(round_of(shipper).not_ours.size(), 1U);
    EXPECT_TRUE(round_of(shipper).not_ours.empty()) << "told once";
    EXPECT_EQ(server.calls, 2);
    EXPECT_EQ(server.rows, numbers(1, 3));
    EXPECT_EQ(shipper.standing().not_ours.size(), 1U);
}

TEST(agent_courier, a_round_has_a_bound_and_the_next_follows_at_once) {
    Spool spool;
    Server server;
    spool.put(1, 11);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1, .most_pieces = 4});
    EXPECT_EQ(round_of(shipper).wait, seconds(0));
    EXPECT_EQ(round_of(shipper).wait, seconds(0));
    EXPECT_EQ(round_of(shipper).wait, seconds(1));
    EXPECT_EQ(server.rows, numbers(1, 11));
}

TEST(agent_courier, blocks_that_left_the_spool_unsent_are_counted) {
    Spool spool;
    Server server;
    spool.put(1, 4);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1, .most_pieces = 1});
    round_of(shipper);
    spool.remove(0);
    spool.put(5, 7);
    EXPECT_EQ(round_of(shipper).gone_blocks, 2U) << "2 and 3; 4 is the session of the second file";
}

TEST(agent_courier, what_is_gone_is_counted_once_though_it_was_tried_twice) {
    Spool spool;
    Server server;
    spool.put(1, 4);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1, .most_pieces = 1});
    round_of(shipper);
    spool.remove(0);
    spool.put(5, 7);
    server.answers = {{.verdict = Verdict::kLater}};
    const ShipRound failed = round_of(shipper);
    EXPECT_TRUE(failed.failed);
    EXPECT_EQ(failed.gone_blocks, 0U);
    EXPECT_EQ(round_of(shipper).gone_blocks, 2U);
    EXPECT_EQ(round_of(shipper).gone_blocks, 0U);
}

TEST(agent_courier, a_stream_that_left_the_spool_unsent_is_counted) {
    Spool spool;
    Server server;
    spool.put(1, 4, "a");
    spool.put(1, 4, "b");
    server.answers = {{.verdict = Verdict::kLater}};
    Shipper shipper = spool.shipper(server);
    round_of(shipper);
    spool.remove(0, "b");
    EXPECT_EQ(round_of(shipper).gone_streams, 1U) << "it waited behind the other one";
    spool.remove(0, "a");
    EXPECT_EQ(round_of(shipper).gone_streams, 0U) << "that one was sent";
}

TEST(agent_courier, a_stream_whose_writer_began_another_is_looked_at_now_and_then) {
    Spool spool;
    Server server;
    spool.put(1, 3, "a");
    spool.put(1, 3, "b");
    Shipper shipper = spool.shipper(server, {.quiet_rounds = 4});
    round_of(shipper);
    round_of(shipper);
    spool.put(4, 6, "a");
    spool.put(4, 5, "b");
    round_of(shipper);
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 2, 1, 2, 4}));
    round_of(shipper);
    round_of(shipper);
    EXPECT_EQ(server.rows, (std::vector<int64_t>{1, 2, 1, 2, 4, 4, 5}));
}

TEST(agent_courier, hours_of_outage_are_caught_up_in_order) {
    Spool spool;
    Server server;
    std::mt19937 random(1);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 2000});
    core::Duration passed{};
    uint64_t next = 1;
    while (passed < std::chrono::hours(9)) {
        // A file every ten minutes; belayd is away for eight hours, and answers at times with "later".
        const bool is_away = passed > std::chrono::minutes(30) && passed < std::chrono::minutes(510);
        server.answers.assign(is_away || random() % 3 == 0 ? 1000 : 0, {.verdict = Verdict::kLater});
        if (passed >= std::chrono::minutes(10) * static_cast<int64_t>(next / 21)) {
            spool.put(next, next + 20);
            next += 21;
        }
        const ShipRound round = round_of(shipper);
        EXPECT_LE(round.wait, seconds(60));
        passed += std::max<core::Duration>(round.wait, milliseconds(100));
    }
    server.answers.clear();
    while (round_of(shipper).pieces > 0) {
    }
    std::vector<int64_t> wanted;
    for (int64_t i = 1; i < static_cast<int64_t>(next); ++i)
        if (i % 21 != 0) wanted.push_back(i);
    EXPECT_EQ(server.rows, wanted);
}

}  // namespace
}  // namespace belay::agent
