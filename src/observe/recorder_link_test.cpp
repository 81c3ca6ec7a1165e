#include "observe/recorder_link.h"

#include "core/text.h"

#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using Message = std::pair<LinkMessage, std::string>;

// All messages that are there; `open` tells whether the sender still is.
std::vector<Message> receive_all(LinkReceiver& receiver, bool& open) {
    std::vector<Message> messages;
    open = receiver.receive(
        [&](LinkMessage kind, std::string_view payload) { messages.emplace_back(kind, payload); });
    return messages;
}

TEST(observe, the_link_keeps_order_and_tells_its_end) {
    Link link = make_link().value();
    link.sender.send(LinkMessage::kStarted, "17");
    link.sender.send(LinkMessage::kStandardOutput, std::string(100'000, 'x'));
    link.sender.send(LinkMessage::kEnded, encode_exit({.code = 0, .signal = 9}));
    bool open = false;
    std::vector<Message> messages;
    for (int i = 0; i < 100 && (messages.empty() || messages.back().first != LinkMessage::kEnded); ++i) {
        for (Message& message : receive_all(link.receiver, open)) messages.push_back(std::move(message));
        EXPECT_TRUE(open);
        link.sender.flush();
    }
    ASSERT_GE(messages.size(), 3u);
    EXPECT_EQ(messages.front(), Message(LinkMessage::kStarted, "17"));
    size_t output = 0;
    for (const auto& [kind, payload] : messages)
        if (kind == LinkMessage::kStandardOutput) output += payload.size();
    EXPECT_EQ(output, 100'000u);
    EXPECT_EQ(decode_exit(messages.back().second), (core::ExitStatus{.code = 0, .signal = 9}));
    link.sender.close();
    EXPECT_TRUE(receive_all(link.receiver, open).empty());
    EXPECT_FALSE(open);
}

TEST(observe, a_recorder_that_does_not_read_holds_nobody_up) {
    Link link = make_link().value();
    std::string chunk(30'000, 'y');
    uint64_t sent = 0;
    for (; sent < 3 * LinkSender::kBacklogBytes; sent += chunk.size())
        link.sender.send(LinkMessage::kStandardOutput, chunk);
    link.sender.send(LinkMessage::kEnded, "0 0");  // is never dropped
    uint64_t received = 0;
    uint64_t dropped = 0;
    bool ended = false;
    bool open = true;
    for (int i = 0; i < 10'000 && !ended; ++i) {
        for (const auto& [kind, payload] : receive_all(link.receiver, open)) {
            if (kind == LinkMessage::kStandardOutput) received += payload.size();
            if (kind == LinkMessage::kDropped) dropped += std::stoull(payload);
            ended |= kind == LinkMessage::kEnded;
        }
        link.sender.flush();
    }
    EXPECT_TRUE(ended);
    EXPECT_GE(received, LinkSender::kBacklogBytes / 2);
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(received + dropped, sent);
}

// What waits is bounded with all that it takes, however small the pieces are in which it was written.
TEST(observe, a_backlog_of_single_bytes_is_bounded_too) {
    auto link = make_link();
    ASSERT_TRUE(link);
    constexpr size_t kBytes = 400'000;
    for (size_t i = 0; i < kBytes; ++i)
        link->sender.send(i % 2 == 0 ? LinkMessage::kStandardOutput : LinkMessage::kStandardError, "x");
    size_t messages = 0;
    size_t dropped = 0;
    size_t bytes = 0;
    auto count = [&](LinkMessage kind, std::string_view payload) {
        ++messages;
        if (kind == LinkMessage::kDropped)
            dropped += core::parse_number<size_t>(payload).value_or(0);
        else
            bytes += payload.size();
    };
    link->sender.send(LinkMessage::kStarted, "1");
    while (link->sender.has_backlog()) {
        link->sender.flush();
        link->receiver.receive(count);
    }
    link->sender.close();
    while (link->receiver.receive(count)) continue;
    EXPECT_EQ(bytes + dropped, kBytes + 1) << "none is lost silently";
    EXPECT_LT(messages, 2 * LinkSender::kBacklogBytes / LinkSender::kMessageBytes);
    EXPECT_GT(dropped, 0U);

    auto plain = make_link();
    for (size_t i = 0; i < kBytes; ++i) plain->sender.send(LinkMessage::kStandardOutput, "x");
    messages = bytes = dropped = 0;
    while (plain->sender.has_backlog()) {
        plain->sender.flush();
        plain->receiver.receive(count);
    }
    plain->sender.close();
    while (plain->receiver.receive(count)) continue;
    EXPECT_EQ(bytes, kBytes);
    EXPECT_EQ(dropped, 0U) << "pieces of one stream are put together";
}

TEST(observe, messages_to_a_recorder_that_is_gone_vanish) {
    Link link = make_link().value();
    {
        LinkReceiver gone = std::move(link.receiver);
    }
    for (int i = 0; i < 10; ++i) link.sender.send(LinkMessage::kStandardOutput, "hello");
    EXPECT_EQ(link.sender.fd(), -1);
}

TEST(observe, exit_statuses_that_are_none_are_refused) {
    for (const char* text : {"", "1", "1 2 3", "x 0", "0 "}) EXPECT_FALSE(decode_exit(text)) << text;
}

}  // namespace
}  // namespace belay::observe
