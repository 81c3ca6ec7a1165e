// Somebody without the secret who stands between two nodes, passes on what they say, and changes some of it.
#include "transfer/reception.h"
#include "transfer/rendezvous.h"

#include <array>
#include <future>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::transfer {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr uint8_t kOrder = kFirstFreeType, kAnswer = kFirstFreeType + 1;
constexpr std::string_view kGenuine = "take it from 10.0.0.1";

enum class From { kMember, kRoot };

// Passes on whole messages of one connection until either side hangs up.
class Relay {
  public:
    // What is passed on in place of a message that is on its way, as its bytes.
    using Change = std::function<std::string(From from, const Message& message)>;

    Relay(uint16_t root_port, Change change)
        : change_(std::move(change)),
          listener_(listen_on(kAnyPort).value()),
          thread_([this, root_port] { run(root_port); }) {}

    uint16_t port() const { return listener_.port; }

  private:
    void run(uint16_t root_port) {
        if (!wait_readable(listener_.socket.get(), Deadline::after(30s)).value()) return;
        core::Descriptor member(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
        core::Descriptor root = connect_to("127.0.0.1", root_port, Deadline::after(10s)).value();
        const std::array<int, 2> ends{member.get(), root.get()};
        std::array<MessageParser, 2> parsers{MessageParser(kMaxBody), MessageParser(kMaxBody)};
        const auto until = Deadline::after(30s);
        while (!until.is_over()) {
            std::array<pollfd, 2> entries{pollfd{ends[0], POLLIN, 0}, pollfd{ends[1], POLLIN, 0}};
            poll(entries.data(), entries.size(), until.poll_milliseconds());
            for (size_t i = 0; i < ends.size(); ++i) {
                if (entries[i].revents == 0) continue;
                std::array<char, 4096> buffer;
                const ssize_t size = recv(ends[i], buffer.data(), buffer.size(), 0);
                if (size <= 0) return;
                parsers[i].feed({buffer.data(), static_cast<size_t>(size)});
                while (auto message = parsers[i].next().value()) {
                    const std::string bytes = change_(i == 0 ? From::kMember : From::kRoot, *message);
                    (void)::send(ends[1 - i], bytes.data(), bytes.size(), MSG_NOSIGNAL);
                }
            }
        }
    }

    Change change_;
    Listener listener_;
    std::jthread thread_;
};

// A root that gives its one member an order and waits for the answer; between them the relay.
struct Heard {
    core::Result<std::string> by_member = std::string();
    std::optional<std::string> by_root = {};
    std::optional<core::Error> root_refused = {};
};

Heard meet_through(const Relay::Change& change) {
    Heard heard;
    auto root = Root::open(kAnyPort, {"secret"}, 2).value();
    // The member believes to be at the root's own port, as where somebody holds its number on the other family of
    // addresses: the handshake says nothing against it.
    Relay relay(root.port(), change);
    auto member =
        std::async(std::launch::async,
                   [port = relay.port(), purpose = step_purpose(root.port())]() -> core::Result<std::string> {
                       const auto until = Deadline::after(20s);
                       BELAY_TRY(socket, connect_to("127.0.0.1", port, until));
                       Channel channel(std::move(socket));
                       BELAY_CHECK(introduce(channel, known("secret"), purpose, 1, until));
                       BELAY_TRY(order, channel.receive(kOrder, until));
                       BELAY_CHECK(channel.send({kAnswer, "done"}, until));
                       // Until the root hangs up.
                       const auto end = channel.receive(until);
                       if (end || end.error().cause() == core::Cause::kDenied)
                           return std::unexpected(end.error());
                       return order;
                   });
    bool is_told = false;
    const auto done = [&] {
        if (!is_told && root.connected(1)) is_told = root.send(1, {kOrder, std::string(kGenuine)});
        return heard.by_root || root.refused(1);
    };
    EXPECT_TRUE(root.serve(Deadline::after(20s), done,
                           [&](uint32_t, const Message& message) { heard.by_root = message.body; })
                    .value());
    heard.root_refused = root.refused(1);
    {
        const Root ended = std::move(root);
    }
    heard.by_member = member.get();
    return heard;
}

void expect_somebody_else(const core::Error& error) {
    EXPECT_EQ(error.cause(), core::Cause::kDenied) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("somebody else takes part in this connection"));
    EXPECT_EQ(link_error(error).cause(), core::Cause::kDenied) << "it is not silence";
}

TEST(transfer, a_relay_that_only_passes_on_is_not_noticed) {
    const Heard heard = meet_through([](From, const Message& message) { return encode(message); });
    EXPECT_EQ(heard.by_member.value(), kGenuine);
    EXPECT_EQ(heard.by_root, "done");
}

// The handshake is passed on untouched; one byte of the order to start is another.
TEST(transfer, a_relay_that_changes_one_byte_of_an_order_is_refused) {
    const Heard heard = meet_through([](From, Message message) {
        if (message.type == kOrder) message.body[kGenuine.size() - 1] = '2';
        return encode(message);
    });
    ASSERT_FALSE(heard.by_member);
    expect_somebody_else(heard.by_member.error());
    EXPECT_FALSE(heard.by_root) << "the member hangs up";
}

TEST(transfer, a_relay_that_changes_an_answer_is_refused_by_the_root) {
    const Heard heard = meet_through([](From, Message message) {
        if (message.type == kAnswer) message.body[0] = 'n';
        return encode(message);
    });
    EXPECT_FALSE(heard.by_root);
    ASSERT_TRUE(heard.root_refused);
    expect_somebody_else(*heard.root_refused);
}

TEST(transfer, a_relay_that_says_something_of_its_own_is_refused) {
    const Heard unsealed = meet_through([](From, const Message& message) {
        return message.type == kOrder ? encode({kOrder, "take it from 10.0.0.2"}) : encode(message);
    });
    ASSERT_FALSE(unsealed.by_member);
    expect_somebody_else(unsealed.by_member.error());
}

TEST(transfer, a_relay_that_sends_a_message_again_is_refused) {
    const Heard order = meet_through([](From, const Message& message) {
        return encode(message) + (message.type == kOrder ? encode(message) : "");
    });
    ASSERT_FALSE(order.by_member);
    expect_somebody_else(order.by_member.error());
}

TEST(transfer, a_relay_that_sends_a_node_its_own_words_is_refused) {
    std::string of_root;
    const Heard heard = meet_through([&](From, const Message& message) {
        if (message.type == kOrder) of_root = encode(message);
        return message.type == kAnswer ? of_root : encode(message);
    });
    EXPECT_FALSE(heard.by_root);
    ASSERT_TRUE(heard.root_refused);
    expect_somebody_else(*heard.root_refused);
}

TEST(transfer, nothing_more_is_believed_on_a_connection_with_somebody_else) {
    auto listener = listen_on(kAnyPort).value();
    Channel client(connect_to("127.0.0.1", listener.port, Deadline::after(10s)).value());
    core::Descriptor server(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const Session::Facts facts{.secret = "secret", .server_nonce = "s", .client_nonce = "c"};
    client.seal(Seals(Session(facts, Side::kClient)));
    const std::string genuine = Seals(Session(facts, Side::kServer)).encode({kOrder, "order"});
    ASSERT_TRUE(core::write_all(server.get(), encode({kOrder, "order"}) + genuine, "the connection"));
    const auto until = Deadline::after(10s);
    const auto first = client.receive(until);
    ASSERT_FALSE(first);
    expect_somebody_else(first.error());
    EXPECT_EQ(client.receive(until).error(), first.error());
    EXPECT_EQ(client.try_receive().error(), first.error());
    EXPECT_EQ(client.send({kOrder}, until).error(), first.error());
    char byte = 0;
    EXPECT_EQ(recv(server.get(), &byte, 1, 0), 0) << "the other side hears the end";
}

// A version of before: its challenge is a nonce alone.
TEST(transfer, who_speaks_another_version_is_told_and_tells_nothing) {
    auto listener = listen_on(kAnyPort).value();
    std::jthread older([&] {
        if (!wait_readable(listener.socket.get(), Deadline::after(20s)).value()) return;
        core::Descriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
        (void)core::write_all(socket.get(), encode({kChallenge, std::string(kNonceBytes, 'n')}), "it");
        char byte = 0;
        EXPECT_EQ(recv(socket.get(), &byte, 1, 0), 0) << "no proof is given";
    });
    auto joined = join("127.0.0.1", std::vector{listener.port}, known("secret"), 1, Deadline::after(300ms));
    ASSERT_FALSE(joined);
    EXPECT_THAT(joined.error().message(), HasSubstr("an older version of Belay"));
    EXPECT_THAT(joined.error().hint_text(), HasSubstr("the same version of Belay on all nodes"));
}

}  // namespace
}  // namespace belay::transfer
