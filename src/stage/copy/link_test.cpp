#include "stage/copy/link.h"

#include "core/file.h"

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

// One side is a link, the other the test.
class LinkCase {
  public:
    explicit LinkCase(size_t most_body = 1000, LinkLimits limits = {}) {
        int ends[2] = {};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        other = core::Descriptor(ends[1]);
        link.emplace(transfer::Channel(core::Descriptor(ends[0])), most_body, limits);
    }
    void write(std::string_view bytes) const { EXPECT_TRUE(core::write_all(other.get(), bytes, "the link")); }

    core::Descriptor other;
    std::optional<CopyLink> link;
    ChunkBuffer body;
};

core::Deadline already() {
    return core::Deadline::after(core::Duration::zero());
}

TEST(stage_copy_link, a_message_comes_whole_however_it_was_cut) {
    LinkCase side;
    const std::string bytes =
        transfer::encode({.type = 20, .body = "content"}) + transfer::encode({.type = 21});
    for (size_t i = 0; i + 1 < bytes.size() - 5; ++i) {
        side.write(bytes.substr(i, 1));
        EXPECT_EQ(side.link->receive(side.body, already()).value(), std::nullopt) << i;
    }
    side.write(bytes.substr(bytes.size() - 6));
    EXPECT_EQ(side.link->receive(side.body, already()).value(), 20);
    EXPECT_EQ(side.body.view(), "content");
    EXPECT_EQ(side.link->receive(side.body, already()).value(), 21);
    EXPECT_EQ(side.body.view(), "");
    EXPECT_EQ(side.link->receive(side.body, already()).value(), std::nullopt);
}

TEST(stage_copy_link, what_is_sent_is_a_message_of_head_and_body) {
    LinkCase side;
    ASSERT_TRUE(side.link->send(20, "head ", "body"));
    const std::string expected = transfer::encode({.type = 20, .body = "head body"});
    std::string there(100, '\0');
    there.resize(static_cast<size_t>(read(side.other.get(), there.data(), there.size())));
    EXPECT_EQ(there, expected);
}

TEST(stage_copy_link, a_message_over_the_limit_or_without_a_type_is_refused) {
    LinkCase large(10);
    large.write(transfer::encode({.type = 20, .body = std::string(11, 'x')}));
    EXPECT_FALSE(large.link->receive(large.body, already()));
    LinkCase empty;
    empty.write(std::string(5, '\0'));
    EXPECT_FALSE(empty.link->receive(empty.body, already()));
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
