#include "agent/shipper.h"

#include "core/file.h"
#include "schema/tables/event.h"
#include "stream/block_encoder.h"
#include "stream/spool.h"

#include <filesystem>
#include <fstream>
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

const core::Time kBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// Writers of two boots began at two times: the names of their files differ.
stream::Session session_of(uint64_t first_block = 0, const std::string& boot = "b") {
    const core::Time began = boot == "b" ? kBegan : kBegan - seconds(60);
    return {.node = "n1",
            .start = began,
            .boot = boot,
            .source = "agent",
            .began = began,
            .first_block = first_block};
}

// What belayd has of all streams: the rows' numbers.
class Server {
  public:
    ShipAnswer take(std::string_view piece) {
        ++calls;
        if (!answers.empty()) {
            ShipAnswer answer = answers.front();
            answers.erase(answers.begin());
            if (answer.verdict != Verdict::kStored) return answer;
        }
        stream::Cursor next;
        const auto summary = stream::read_segment_bytes(piece, "piece", [&](const stream::Batch& batch) {
            for (int64_t row : batch.values(column(schema::kEvent, "task")).integers) rows.push_back(row);
        });
        EXPECT_TRUE(summary && summary->whole());
        sessions.push_back(summary->session->boot);
        return {.verdict = Verdict::kStored, .next_block = has_up_to};
    }

    std::vector<int64_t> rows;
    std::vector<std::string> sessions;
    std::vector<ShipAnswer> answers;  // to the next pieces; then all are stored
    uint64_t has_up_to = 0;
    int calls = 0;
};

class Spool {
  public:
    // A file with the rows `from` to `to` - 1, each a block, which has the row's number.
    void put(uint64_t from, uint64_t to, const std::string& boot = "b") {
        const uint64_t first = from - 1;
        std::string bytes = stream::encode_head(session_of(first, boot));
        for (uint64_t i = from; i < to; ++i) {
            stream::Batch batch(schema::kEvent);
            batch.add_row(kBegan, "n1");
            batch.set(column(schema::kEvent, "task"), i);
            for (const stream::RowsPayload& part : stream::encode_rows(batch))
                bytes += stream::encode_rows_block(part, static_cast<uint32_t>(i - first));
        }
        std::ofstream(path() / stream::spool_file_name(session_of(first, boot).stream(), first)) << bytes;
    }
    void remove(uint64_t first) {
        fs::remove(path() / stream::spool_file_name(session_of().stream(), first));
    }
    const fs::path& path() const { return place_.path(); }
    Shipper shipper(Server& server, const ShipOptions& options = {}, double random = 1) const {
        auto opened = Shipper::open(
            path(), [&](std::string_view piece) { return server.take(piece); }, [random] { return random; },
            options);
        if (!opened) ADD_FAILURE() << opened.error().message();
        return std::move(*opened);
    }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("shipper_test").value();
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

TEST(agent, a_spool_is_sent_once_and_what_comes_later_too) {
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

TEST(agent, an_agent_that_was_started_again_sends_nothing_twice) {
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

TEST(agent, what_could_not_be_sent_is_sent_later) {
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

TEST(agent, delays_have_a_bound_and_differ_among_agents) {
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

TEST(agent, a_piece_that_belayd_will_never_take_is_passed_over) {
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

TEST(agent, a_stream_of_another_writer_does_not_hold_up_the_others) {
    Spool spool;
    Server server;
    spool.put(1, 3, "a");
    spool.put(1, 3, "b");
    server.answers = {{.verdict = Verdict::kNotOurs, .why = "another writer uses its name"}};
    Shipper shipper = spool.shipper(server);
    round_of(shipper);
    round_of(shipper);
    EXPECT_EQ(server.calls, 2);
    EXPECT_EQ(server.rows, numbers(1, 3));
}

TEST(agent, a_round_has_a_bound_and_the_next_follows_at_once) {
    Spool spool;
    Server server;
    spool.put(1, 11);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1, .most_pieces = 4});
    EXPECT_EQ(round_of(shipper).wait, seconds(0));
    EXPECT_EQ(round_of(shipper).wait, seconds(0));
    EXPECT_EQ(round_of(shipper).wait, seconds(1));
    EXPECT_EQ(server.rows, numbers(1, 11));
}

TEST(agent, blocks_that_left_the_spool_unsent_are_counted) {
    Spool spool;
    Server server;
    spool.put(1, 4);
    Shipper shipper = spool.shipper(server, {.piece_bytes = 1, .most_pieces = 1});
    round_of(shipper);
    spool.remove(0);
    spool.put(5, 7);
    EXPECT_EQ(round_of(shipper).gone_blocks, 2U) << "2 and 3; 4 is the session of the second file";
}

TEST(agent, hours_of_outage_are_caught_up_in_order) {
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
