#include "stage/copy/link.h"

#include "core/file.h"

#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

transfer::Session session_of(transfer::Side side, std::string_view nonce = "nonce") {
    return transfer::Session({.secret = "secret",
                              .purpose = "copy from port 7",
                              .server_nonce = nonce,
                              .client_nonce = "other",
                              .rank = 1},
                             side);
}

// The bytes that a node sends over a link, as link.h describes them.
class Sent {
  public:
    explicit Sent(const transfer::Session& session) : gmac_(session.key_to_send("copy")) {}

    std::string message(uint8_t type, const std::string& body) {
        std::string bytes;
        transfer::put_u32(bytes, static_cast<uint32_t>(1 + body.size() + 16));
        bytes += static_cast<char>(type);
        bytes += body;
        gmac_.begin(number_++);
        gmac_.update(bytes);
        const core::Gmac::Tag tag = gmac_.finish();
        return bytes.append(tag.data(), tag.size());
    }

  private:
    core::Gmac gmac_;
    uint64_t number_ = 0;
};

// One side is a link, the other the test.
class LinkCase {
  public:
    explicit LinkCase(size_t most_body = 1000, LinkLimits limits = {}) {
        int ends[2] = {};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        other = core::Descriptor(ends[1]);
        link.emplace(transfer::Channel(core::Descriptor(ends[0]),
                                       transfer::Seals(session_of(transfer::Side::kClient))),
                     most_body, limits);
    }
    void write(std::string_view bytes) const { EXPECT_TRUE(core::write_all(other.get(), bytes, "the link")); }
    std::string read() const {
        std::string there(100, '\0');
        there.resize(static_cast<size_t>(::read(other.get(), there.data(), there.size())));
        return there;
    }
    core::Result<std::optional<uint8_t>> receive() {
        return link->receive(body, core::Deadline::after(core::Duration::zero()));
    }
    // That nothing of these bytes is believed, nor anything after them.
    void refuses(std::string_view bytes) {
        write(bytes);
        for (int i = 0; i < 2; ++i) {
            const auto received = receive();
            ASSERT_FALSE(received);
            EXPECT_EQ(received.error().cause(), core::Cause::kDenied) << received.error().message();
            EXPECT_NE(received.error().message().find("somebody else takes part"), std::string::npos);
            EXPECT_EQ(link->send(20).error(), received.error());
        }
        EXPECT_EQ(read(), "") << "the other side hears the end";
    }

    core::Descriptor other;
    Sent sent{session_of(transfer::Side::kServer)};
    std::optional<CopyLink> link;
    ChunkBuffer body;
};

TEST(stage_copy_link, a_message_comes_whole_however_it_was_cut) {
    LinkCase side;
    const std::string first = side.sent.message(20, "content"), second = side.sent.message(21, "");
    for (size_t i = 0; i + 1 < first.size(); ++i) {
        side.write(first.substr(i, 1));
        EXPECT_EQ(side.receive().value(), std::nullopt) << i;
    }
    side.write(first.substr(first.size() - 1) + second);
    EXPECT_EQ(side.receive().value(), 20);
    EXPECT_EQ(side.body.view(), "content");
    EXPECT_EQ(side.receive().value(), 21);
    EXPECT_EQ(side.body.view(), "");
    EXPECT_EQ(side.receive().value(), std::nullopt);
}

TEST(stage_copy_link, what_is_sent_is_a_message_of_head_and_body) {
    LinkCase side;
    Sent as_of_the_link(session_of(transfer::Side::kClient));
    ASSERT_TRUE(side.link->send(20, "head ", "body"));
    EXPECT_EQ(side.read(), as_of_the_link.message(20, "head body"));
    ASSERT_TRUE(side.link->send(21));
    EXPECT_EQ(side.read(), as_of_the_link.message(21, ""));
}

// More than is sealed at a time.
TEST(stage_copy_link, a_large_message_comes_as_it_was_sent) {
    LinkCase side(size_t{4} << 20);
    std::string content(size_t{3} << 20, 'x');
    for (size_t i = 0; i < content.size(); i += 1000) content[i] = static_cast<char>(i / 1000);
    transfer::Channel channel(std::move(side.other), transfer::Seals(session_of(transfer::Side::kServer)));
    CopyLink sender(std::move(channel), 1000, {.rate = uint64_t{1} << 30});
    std::jthread thread([&] { EXPECT_TRUE(sender.send(20, content.substr(0, 16), content.substr(16))); });
    EXPECT_EQ(side.link->receive(side.body, core::Deadline::after(std::chrono::seconds(60))).value(), 20);
    EXPECT_TRUE(side.body.view() == content);
}

TEST(stage_copy_link, a_message_that_was_changed_is_refused) {
    const std::string whole = LinkCase().sent.message(20, "content");
    // The length is looked at before all of the message is there: one that is wrong has an error of its own.
    for (size_t i = sizeof(uint32_t); i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        SCOPED_TRACE(i);
        LinkCase().refuses(changed);
    }
}

TEST(stage_copy_link, a_message_that_was_cut_is_refused) {
    std::string cut = LinkCase().sent.message(20, "content");
    cut.erase(cut.size() - 16 - 1, 1);
    cut[3] = static_cast<char>(cut[3] - 1);
    LinkCase().refuses(cut);
}

TEST(stage_copy_link, a_message_that_comes_again_or_out_of_order_is_refused) {
    LinkCase again, skipped;
    const std::string first = again.sent.message(20, "first"), second = again.sent.message(20, "second");
    again.write(first);
    EXPECT_EQ(again.receive().value(), 20);
    again.refuses(first);
    skipped.refuses(second);
}

TEST(stage_copy_link, what_is_sent_back_or_of_another_connection_is_refused) {
    LinkCase reflected;
    ASSERT_TRUE(reflected.link->send(20, "content"));
    reflected.refuses(reflected.read());
    Sent elsewhere(session_of(transfer::Side::kServer, "another nonce"));
    LinkCase().refuses(elsewhere.message(20, "content"));
}

TEST(stage_copy_link, nobody_is_heard_who_was_not_introduced) {
    int ends[2] = {};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const core::Descriptor other(ends[1]);
    transfer::Channel channel{core::Descriptor(ends[0])};
    CopyLink link(std::move(channel), 1000, {});
    ChunkBuffer body;
    EXPECT_FALSE(link.send(20));
    EXPECT_FALSE(link.receive(body, core::Deadline::after(core::Duration::zero())));
}

TEST(stage_copy_link, a_message_over_the_limit_or_without_a_tag_is_refused) {
    LinkCase large(10);
    large.write(large.sent.message(20, std::string(10, 'x')));
    EXPECT_EQ(large.receive().value(), 20);
    large.write(large.sent.message(20, std::string(11, 'x')));
    EXPECT_FALSE(large.receive());
    LinkCase empty;
    empty.write(std::string(5, '\0'));
    EXPECT_FALSE(empty.receive());
    LinkCase plain;
    plain.write(transfer::encode({.type = 20, .body = "content"}));
    EXPECT_FALSE(plain.receive());
}

TEST(stage_copy_link, the_end_of_the_other_side_is_told) {
    LinkCase side;
    side.other.reset();
    const auto received = side.link->receive(side.body, core::Deadline::after(std::chrono::seconds(60)));
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().cause(), core::Cause::kEnded);
    EXPECT_FALSE(side.link->send(20, std::string(100, 'x')));
}

TEST(stage_copy_link, who_takes_nothing_is_not_waited_for) {
    LinkCase side(1000, {.silence = std::chrono::milliseconds(20)});
    const std::string much(size_t{4} << 20, 'x');
    const auto sent = side.link->send(20, {}, much);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().cause(), core::Cause::kTimedOut);
}

TEST(stage_copy_link, sending_ends_when_it_is_stopped) {
    const std::atomic<bool> stop = true;
    LinkCase side(1000, {.stop = &stop});
    const auto sent = side.link->send(20);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().cause(), core::Cause::kCancelled);
}

}  // namespace
}  // namespace belay::stage
