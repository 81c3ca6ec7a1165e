#include "transfer/bandwidth.h"
#include "transfer/message.h"
#include "transfer/reception.h"
#include "transfer/rendezvous.h"

#include <cerrno>
#include <fcntl.h>
#include <future>
#include <map>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::transfer {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(transfer, messages_survive_any_cut) {
    std::vector<Message> sent{{1, ""}, {200, "body"}, {17, std::string(1000, 'x')}};
    std::string stream;
    for (const Message& message : sent) stream += encode(message);
    MessageParser parser(1000);
    std::vector<Message> got;
    for (char byte : stream) {
        parser.feed({&byte, 1});
        auto message = parser.next();
        ASSERT_TRUE(message);
        if (*message) got.push_back(**message);
    }
    EXPECT_EQ(got, sent);
}

TEST(transfer, message_over_the_limit_is_refused_before_it_is_there) {
    MessageParser parser(16);
    parser.feed(std::string_view("\0\0\0\x12", 4));
    EXPECT_FALSE(parser.next());
    MessageParser empty;
    empty.feed(std::string_view("\0\0\0\0", 4));
    EXPECT_FALSE(empty.next());
}

TEST(transfer, body_that_is_too_short_reads_as_zero) {
    BodyReader reader("\x01\x02");
    EXPECT_EQ(reader.u32(), 0U);
    EXPECT_FALSE(reader.ok());
}

TEST(transfer, proofs_are_for_one_secret_purpose_nonce_and_rank) {
    std::string server(kNonceBytes, 's'), client(kNonceBytes, 'c');
    std::string body = encode_proof("secret", "step", server, client, 3);
    auto proof = check_proof(body, "secret", "step", server);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->rank, 3U);
    EXPECT_FALSE(check_proof(body, "other", "step", server));
    EXPECT_FALSE(check_proof(body, "secret", "pair", server));
    EXPECT_FALSE(check_proof(body, "secret", "step", std::string(kNonceBytes, 't')));
    std::string forged = body;
    forged[3] = 4;
    EXPECT_FALSE(check_proof(forged, "secret", "step", server));
    EXPECT_FALSE(check_proof(body + "x", "secret", "step", server));
    EXPECT_NE(encode_welcome("secret", "step", server, *proof), proof->digest);
}

TEST(transfer, ports_are_the_same_for_all_nodes_and_differ_for_steps) {
    auto ports = rendezvous_ports("cluster.12.0");
    EXPECT_EQ(ports, rendezvous_ports("cluster.12.0"));
    EXPECT_NE(ports, rendezvous_ports("cluster.12.1"));
    EXPECT_EQ(std::set(ports.begin(), ports.end()).size(), 8U);
    for (uint16_t port : ports) {
        EXPECT_GE(port, 16384);
        EXPECT_LT(port, 32768);
    }
}

TEST(transfer, clock_offset_as_in_rfc_5905) {
    // The other clock is 10 s ahead; 1 s there, 0.5 s of work, 1 s back.
    ClockOffset found = clock_offset(100, 111, 111.5, 102.5);
    EXPECT_DOUBLE_EQ(found.seconds, 10);
    EXPECT_DOUBLE_EQ(found.round_trip, 2);
}

// What a root with members in threads sees.
struct Meeting {
    explicit Meeting(uint32_t size) : root(Root::open(kAny, {"secret"}, size).value()) {}
    static constexpr uint16_t kAnyPort[] = {0};
    static constexpr std::span<const uint16_t> kAny{kAnyPort};
    Root root;
    std::map<uint32_t, std::string> reports;
    Root::Handler handler = [this](uint32_t rank, Message message) { reports[rank] = message.body; };

    std::vector<uint16_t> ports() const { return {root.port()}; }
    bool gather(size_t count, core::Duration time = 20s) {
        return root.serve(
                       core::Deadline::after(time), [&] { return reports.size() >= count; }, handler)
            .value();
    }
};

TEST(transfer, everybody_reports_and_hears_the_answer) {
    Meeting meeting(5);
    std::vector<std::future<std::string>> members;
    for (uint32_t rank = 1; rank < 5; ++rank)
        members.push_back(std::async(std::launch::async, [ports = meeting.ports(), rank] {
            auto channel = join("127.0.0.1", ports, known("secret"), rank, core::Deadline::after(20s));
            if (!channel) return channel.error().message();
            auto offset = measure_clock_offset(*channel, 8, core::Deadline::after(20s));
            if (!offset || std::abs(offset->seconds) > offset->round_trip) return std::string("no offset");
            (void)channel->send({kFirstFreeType, fmt::format("from {}", rank)}, core::Deadline::after(20s));
            return channel->receive(kFirstFreeType, core::Deadline::after(20s)).value_or("nothing");
        }));
    ASSERT_TRUE(meeting.gather(4));
    EXPECT_EQ(meeting.reports[3], "from 3");
    EXPECT_TRUE(meeting.root.connected(3));
    EXPECT_EQ(meeting.root.address_of(3), "127.0.0.1");
    EXPECT_EQ(meeting.root.own_address_toward(3), "127.0.0.1");
    for (uint32_t rank = 1; rank < 5; ++rank)
        EXPECT_TRUE(meeting.root.send(rank, {kFirstFreeType, fmt::format("to {}", rank)}));
    EXPECT_FALSE(meeting.root.send(77, {kFirstFreeType, ""}));
    ASSERT_TRUE(meeting.root.flush(core::Deadline::after(20s)).value());
    for (uint32_t rank = 1; rank < 5; ++rank) EXPECT_EQ(members[rank - 1].get(), fmt::format("to {}", rank));
}

TEST(transfer, strangers_and_silence_hold_nobody_up) {
    Meeting meeting(3);
    auto silent = connect_to("127.0.0.1", meeting.root.port(), core::Deadline::after(5s)).value();
    auto noisy = connect_to("127.0.0.1", meeting.root.port(), core::Deadline::after(5s)).value();
    ASSERT_TRUE(core::write_all(noisy.get(), "GET / HTTP/1.0\r\n\r\n", "noise"));
    auto wrong = std::async(std::launch::async, [ports = meeting.ports()] {
        return join("127.0.0.1", ports, known("guess"), 1, core::Deadline::after(300ms)).has_value();
    });
    auto right = std::async(std::launch::async, [ports = meeting.ports()] {
        auto channel = join("127.0.0.1", ports, known("secret"), 2, core::Deadline::after(20s));
        return channel && channel->send({kFirstFreeType, "here"}, core::Deadline::after(20s)).has_value();
    });
    // Rank 1 never comes: the deadline ends it, with what there is.
    EXPECT_FALSE(meeting.gather(2, 2s));
    EXPECT_EQ(meeting.reports, (std::map<uint32_t, std::string>{{2, "here"}}));
    EXPECT_FALSE(wrong.get());
    EXPECT_TRUE(right.get());
}

// As a child whose result was taken leaves it: for ever readable.
TEST(transfer, root_sleeps_once_nothing_wakes_it) {
    Meeting meeting(2);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    core::Descriptor reader(ends[0]);
    close(ends[1]);
    int rounds = 0;
    auto never = [&] {
        if (++rounds == 3) reader.reset();
        return false;
    };
    EXPECT_FALSE(
        meeting.root.serve(core::Deadline::after(300ms), never, meeting.handler, [&] { return reader.get(); })
            .value());
    EXPECT_GE(rounds, 3) << "it wakes while there is something to take";
    EXPECT_LE(rounds, 6);
}

TEST(transfer, join_ends_at_the_deadline_when_nobody_listens) {
    uint16_t port = Meeting(2).root.port();  // closed again
    auto channel =
        join("127.0.0.1", std::vector<uint16_t>{port}, known("secret"), 1, core::Deadline::after(100ms));
    ASSERT_FALSE(channel);
    EXPECT_THAT(channel.error().message(), HasSubstr(fmt::format("127.0.0.1:{}", port)));
}

// The address is full of those who do not answer in time; before that, the port was known to be closed.
TEST(transfer, a_try_that_the_deadline_cuts_short_does_not_hide_the_one_before) {
    uint16_t port = Meeting(2).root.port();  // closed again
    auto member = std::async(std::launch::async, [port] {
        return join("127.0.0.1", std::vector<uint16_t>{port}, known("secret"), 1, core::Deadline::after(1s));
    });
    std::this_thread::sleep_for(300ms);
    auto silent = listen_on(std::vector<uint16_t>{port});  // takes connections and says nothing
    ASSERT_TRUE(silent);
    auto channel = member.get();
    ASSERT_FALSE(channel);
    EXPECT_EQ(channel.error().errno_value(), ECONNREFUSED) << channel.error().message();
    EXPECT_EQ(link_error(channel.error()).cause(), core::Cause::kUnreachable);
}

TEST(transfer, a_secret_that_is_not_the_steps_is_told_apart_from_silence) {
    Meeting meeting(2);
    uint16_t closed = Meeting(2).root.port();
    auto member = std::async(std::launch::async, [ports = std::vector{meeting.root.port(), closed}] {
        return join("127.0.0.1", ports, known("guess"), 1, core::Deadline::after(1s));
    });
    EXPECT_FALSE(meeting.gather(1, 1s));
    auto channel = member.get();
    ASSERT_FALSE(channel);
    EXPECT_EQ(channel.error().message(),
              "127.0.0.1 did not accept this node's proof that it knows the step's secret");
    EXPECT_THAT(channel.error().hint_text(), HasSubstr("secret of the step"));
    EXPECT_EQ(link_error(channel.error()).cause(), core::Cause::kDenied);
}

TEST(transfer, why_nothing_was_heard_is_told_by_cause) {
    uint16_t any[] = {0};
    Listener listener = listen_on(any).value();
    auto until = core::Deadline::after(50ms);
    auto nobody = accept_introduced(listener.socket.get(), "s", "p", 2, until);
    EXPECT_EQ(nobody.error().cause(), core::Cause::kTimedOut);
    Channel channel(connect_to("127.0.0.1", listener.port, core::Deadline::after(5s)).value());
    auto silent = channel.receive(core::Deadline::after(50ms));
    EXPECT_EQ(silent.error().message(), "receiving from 127.0.0.1: timed out");
    core::Descriptor(accept(listener.socket.get(), nullptr, nullptr)).reset();
    EXPECT_EQ(channel.receive(core::Deadline::after(5s)).error().cause(), core::Cause::kEnded);
    auto unknown = connect_to("a..b", 53, core::Deadline::after(5s));
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message(), HasSubstr("a..b:53: the name service"));
}

TEST(transfer, join_finds_the_root_behind_a_port_that_somebody_else_has) {
    uint16_t any[] = {0};
    Listener other = listen_on(any).value();
    Meeting meeting(2);
    auto member =
        std::async(std::launch::async, [ports = std::vector<uint16_t>{other.port, meeting.root.port()}] {
            return join("127.0.0.1", ports, known("secret"), 1, core::Deadline::after(20s)).has_value();
        });
    ASSERT_TRUE(
        meeting.root
            .serve(
                core::Deadline::after(20s), [&] { return meeting.root.connected(1); }, meeting.handler)
            .value());
    ASSERT_TRUE(meeting.root.flush(core::Deadline::after(20s)).value());
    EXPECT_TRUE(member.get());
}

TEST(transfer, both_sides_of_a_pair_measure) {
    uint16_t any[] = {0};
    Listener listener = listen_on(any).value();
    PairOptions options{
        .secret = "s", .name = "1", .duration = 50ms, .streams = 3, .deadline = core::Deadline::after(30s)};
    auto connector = std::async(std::launch::async, [&, port = listener.port] {
        return measure_as_connector("127.0.0.1", port, options);
    });
    auto listened = measure_as_listener(listener.socket.get(), options);
    auto connected = connector.get();
    ASSERT_TRUE(listened) << listened.error().message();
    ASSERT_TRUE(connected) << connected.error().message();
    EXPECT_GT(*listened, 0);
    EXPECT_GT(*connected, 0);
}

// It goes after the time to warm up, when bytes have been counted.
TEST(transfer, pair_whose_connection_breaks_is_not_measured) {
    uint16_t any[] = {0};
    Listener listener = listen_on(any).value();
    PairOptions options{
        .secret = "s", .name = "1", .duration = 2s, .streams = 2, .deadline = core::Deadline::after(30s)};
    auto quitter = std::async(std::launch::async, [&] {
        auto accept = [&](std::string_view name) {
            return accept_introduced(listener.socket.get(), "s", name, 2, options.deadline).value();
        };
        for (int i = 0; i < options.streams; ++i) accept("pair 1 direction 1").close();
        Channel stays = accept("pair 1 direction 2"), goes = accept("pair 1 direction 2");
        for (core::Duration pause : {core::Duration(600ms), core::Duration(0)}) {
            (void)core::write_all(goes.socket(), std::string(1000, 'x'), "bytes");
            std::this_thread::sleep_for(pause);
        }
        goes.close();
        (void)wait_readable(stays.socket(), options.deadline);  // until the other side has hung up
    });
    auto rate = measure_as_connector("127.0.0.1", listener.port, options);
    ASSERT_FALSE(rate);
    EXPECT_THAT(rate.error().message(), HasSubstr("ended before the measurement"));
    quitter.get();
}

TEST(transfer, pair_without_a_partner_ends_at_the_deadline) {
    uint16_t any[] = {0};
    Listener listener = listen_on(any).value();
    PairOptions options{
        .secret = "s", .name = "1", .duration = 50ms, .deadline = core::Deadline::after(100ms)};
    EXPECT_FALSE(measure_as_listener(listener.socket.get(), options));
    options.duration = 0ms;
    EXPECT_EQ(measure_as_listener(listener.socket.get(), options).error().kind(), core::ErrorKind::kBadInput);
    options.duration = 50ms;
    options.streams = 99;
    EXPECT_EQ(measure_as_listener(listener.socket.get(), options).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::transfer
