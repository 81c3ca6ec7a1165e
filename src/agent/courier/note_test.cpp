#include "agent/courier/note.h"

#include "agent/courier/courier_link.h"

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(agent_courier, rows_of_notes_stand_where_their_kinds_say) {
    for (const NoteRow& row : kNoteRows) EXPECT_EQ(&row_of(row.kind), &row);
}

TEST(agent_courier, a_note_is_read_as_it_was_written) {
    const Note full{.kind = NoteKind::kGone,
                    .subject = "stream/ä",
                    .value = 12.5,
                    .code = -5,
                    .message = "a \"message\"\nwith lines"};
    for (const Note& note : {full, Note{}, Note{.kind = NoteKind::kReadTo, .value = 4711}}) {
        auto read = decode_note(encode_note(note));
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(*read, note);
    }
}

TEST(agent_courier, a_note_fits_into_a_datagram) {
    const std::string bytes =
        encode_note({.subject = std::string(100'000, '\x01'), .message = std::string(100'000, '\xff')});
    EXPECT_LE(bytes.size(), kMostNoteBytes);
    EXPECT_TRUE(decode_note(bytes));
}

TEST(agent_courier, what_is_not_a_note_is_refused) {
    for (const char* bytes : {"", "x", "[]", "{}", R"({"kind":"nosuch"})", R"({"kind":7})"})
        EXPECT_FALSE(decode_note(bytes)) << bytes;
    auto odd = decode_note(R"({"kind":"words","value":"x","code":1e300,"message":3})");
    ASSERT_TRUE(odd);
    EXPECT_EQ(*odd, Note{});
}

struct LinkEnds {
    static LinkEnds create() {
        auto link = CourierLink::create();
        if (!link) ADD_FAILURE() << link.error().message();
        return LinkEnds(std::move(*link));
    }
    explicit LinkEnds(CourierLink link)
        : courier(std::move(link.courier)), sampler(std::move(link.sampler)) {}
    CourierEnd courier;
    SamplerEnd sampler;
};

std::vector<std::string> messages_of(const std::vector<Note>& notes) {
    std::vector<std::string> messages;
    for (const Note& note : notes)
        messages.push_back(note.kind == NoteKind::kReadTo ? fmt::format("at {:g}", *note.value)
                                                          : note.message);
    return messages;
}

TEST(agent_courier, notes_pass_in_their_order_and_of_places_the_last) {
    LinkEnds link = LinkEnds::create();
    link.courier.add({.message = "a"});
    link.courier.add({.kind = NoteKind::kReadTo, .value = 1});
    link.courier.add({.message = "b"});
    link.courier.add({.kind = NoteKind::kReadTo, .value = 2});
    EXPECT_THAT(link.sampler.take(), IsEmpty());
    EXPECT_TRUE(link.courier.wait(milliseconds(0)));
    EXPECT_THAT(messages_of(link.sampler.take()), ElementsAre("a", "b", "at 2"));
}

TEST(agent_courier, a_sampler_that_does_not_listen_holds_nobody_up) {
    LinkEnds link = LinkEnds::create();
    for (int i = 0; i < 3000; ++i) {
        link.courier.add({.message = std::string(900, 'x')});
        link.courier.flush();
    }
    size_t got = 0;
    for (int i = 0; i < 100; ++i) {
        got += link.sampler.take().size();
        link.courier.flush();
    }
    EXPECT_GE(got, 1000U);
    EXPECT_LT(got, 3000U) << "the oldest of them are gone";
}

TEST(agent_courier, the_end_is_seen_by_the_courier) {
    LinkEnds link = LinkEnds::create();
    EXPECT_TRUE(link.courier.wait(milliseconds(1)));
    link.courier.add({.message = "still"});
    link.sampler.say_end();
    EXPECT_FALSE(link.courier.wait(seconds(60)));
    EXPECT_THAT(messages_of(link.sampler.take()), ElementsAre("still"));
    {
        LinkEnds other = LinkEnds::create();
        other.sampler = SamplerEnd(core::Descriptor());
        EXPECT_FALSE(other.courier.wait(seconds(60)));
    }
}

}  // namespace
}  // namespace belay::agent
