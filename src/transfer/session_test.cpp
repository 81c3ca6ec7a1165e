#include "transfer/session.h"

#include "transfer/handshake.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::transfer {
namespace {

using testing::HasSubstr;

constexpr Session::Facts kFacts{.secret = "secret",
                                .purpose = "step at port 20000",
                                .server_nonce = "the server's",
                                .client_nonce = "the client's",
                                .rank = 3};

Seals seals_of(Side side, const Session::Facts& facts = kFacts) {
    return Seals(Session(facts, side));
}

// As it comes off the wire.
Message message_in(std::string_view bytes) {
    MessageParser parser(kMaxBody);
    parser.feed(bytes);
    return parser.next().value().value();
}

void expect_refused(Seals& seals, const Message& message) {
    const auto opened = seals.open(message);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().cause(), core::Cause::kDenied);
    EXPECT_THAT(opened.error().message(), HasSubstr("somebody else takes part"));
}

TEST(transfer, sealed_messages_are_opened_by_the_other_side) {
    Seals server = seals_of(Side::kServer), client = seals_of(Side::kClient);
    const std::vector<Message> messages{{16, ""}, {17, "order"}, {255, std::string(100'000, 'x')}};
    for (const Message& message : messages) {
        EXPECT_EQ(client.open(message_in(server.encode(message))).value(), message);
        EXPECT_EQ(server.open(message_in(client.encode(message))).value(), message);
    }
}

// So that another program can be written by session.h alone.
TEST(transfer, a_mac_is_what_the_format_says) {
    Seals seals = seals_of(Side::kServer);
    seals.encode({16, "first"});
    std::string info;
    for (const std::string_view part : {"belay nodes 2", "message", "server", "step at port 20000"}) {
        put_u32(info, static_cast<uint32_t>(part.size()));
        info += part;
    }
    put_u32(info, 3);
    const auto extracted = core::hmac_sha256("the server'sthe client's", "secret");
    const auto key = core::hmac_sha256(core::bytes_of(extracted), info + '\x01');
    const std::string covered = std::string(7, '\0') + '\x01' + '\x11' + "order";
    const auto digest = core::hmac_sha256(core::bytes_of(key), covered);
    const std::string body = "order" + std::string(core::bytes_of(digest).substr(0, 16));
    EXPECT_EQ(seals.encode({17, "order"}), encode({17, body}));
}

TEST(transfer, a_message_that_was_changed_is_refused) {
    const Message sent = message_in(seals_of(Side::kServer).encode({17, "order"}));
    for (size_t i = 0; i < sent.body.size(); ++i)
        for (const int bit : {1, 128}) {
            Seals client = seals_of(Side::kClient);
            Message changed = sent;
            changed.body[i] = static_cast<char>(changed.body[i] ^ bit);
            expect_refused(client, changed);
        }
    Seals client = seals_of(Side::kClient);
    expect_refused(client, {18, sent.body});
}

TEST(transfer, a_message_that_was_cut_or_prolonged_is_refused) {
    const Message sent = message_in(seals_of(Side::kServer).encode({17, "order"}));
    for (size_t size = 0; size < sent.body.size(); ++size) {
        Seals client = seals_of(Side::kClient);
        expect_refused(client, {17, sent.body.substr(0, size)});
    }
    Seals longer = seals_of(Side::kClient);
    expect_refused(longer, {17, sent.body + 'x'});
    Seals shifted = seals_of(Side::kClient);
    expect_refused(shifted, {17, sent.body.substr(1)});
}

TEST(transfer, a_message_that_comes_again_is_refused) {
    Seals server = seals_of(Side::kServer), client = seals_of(Side::kClient);
    const Message first = message_in(server.encode({17, "order"}));
    EXPECT_TRUE(client.open(first));
    expect_refused(client, first);
}

TEST(transfer, messages_out_of_order_are_refused) {
    Seals server = seals_of(Side::kServer), client = seals_of(Side::kClient);
    const Message first = message_in(server.encode({17, "first"}));
    const Message second = message_in(server.encode({17, "second"}));
    expect_refused(client, second);
    EXPECT_EQ(client.open(first).value().body, "first") << "what was refused does not count";
}

TEST(transfer, a_message_that_is_sent_back_is_refused) {
    Seals client = seals_of(Side::kClient);
    expect_refused(client, message_in(client.encode({17, "order"})));
}

TEST(transfer, keys_are_of_one_session_direction_and_use) {
    std::set<core::Sha256Digest> keys;
    size_t count = 0;
    const auto add = [&](const Session::Facts& facts) {
        for (const std::string_view use : {"message", "copy"}) {
            keys.insert(Session(facts, Side::kServer).key_to_send(use));
            keys.insert(Session(facts, Side::kClient).key_to_send(use));
            count += 2;
        }
    };
    add(kFacts);
    Session::Facts other = kFacts;
    other.secret = "another secret";
    add(other);
    other = kFacts;
    other.purpose = "step at port 20001";
    add(other);
    other = kFacts;
    other.server_nonce = "another server's";
    add(other);
    other = kFacts;
    other.client_nonce = "another client's";
    add(other);
    other = kFacts;
    other.rank = 4;
    add(other);
    EXPECT_EQ(keys.size(), count);
    const Session server(kFacts, Side::kServer), client(kFacts, Side::kClient);
    EXPECT_EQ(server.key_to_send("copy"), client.key_to_receive("copy"));
    EXPECT_EQ(client.key_to_send("copy"), server.key_to_receive("copy"));
}

TEST(transfer, a_challenge_says_the_version) {
    const std::string nonce(kNonceBytes, 'n');
    const std::string body = encode_challenge(nonce, "offer");
    const auto challenge = decode_challenge(body);
    ASSERT_TRUE(challenge);
    EXPECT_EQ(challenge->nonce, nonce);
    EXPECT_EQ(challenge->offer, "offer");
    EXPECT_EQ(decode_challenge(encode_challenge(nonce, "")).value().offer, "");
    for (size_t size = 0; size < body.size() - 5; ++size)
        EXPECT_FALSE(decode_challenge(std::string_view(body).substr(0, size))) << size;
}

TEST(transfer, a_node_of_another_version_is_told_so) {
    std::string later = encode_challenge(std::string(kNonceBytes, 'n'), "");
    later[7] = 9;
    const auto of_later = decode_challenge(later);
    ASSERT_FALSE(of_later);
    EXPECT_THAT(of_later.error().message(), HasSubstr("it speaks version 9"));
    EXPECT_THAT(of_later.error().hint_text(), HasSubstr("the same version of Belay on all nodes"));
    const auto of_earlier = decode_challenge(std::string(kNonceBytes, 'n'));  // a nonce alone
    ASSERT_FALSE(of_earlier);
    EXPECT_THAT(of_earlier.error().message(), HasSubstr("an older version of Belay"));
    EXPECT_EQ(of_earlier.error().hint_text(), of_later.error().hint_text());
}

}  // namespace
}  // namespace belay::transfer
