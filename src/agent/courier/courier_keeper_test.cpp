#include "agent/courier/courier_keeper.h"

#include <csignal>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A keeper whose courier is a function, in a real process; the clock that says when to start again is moved by hand.
class Keeping {
  public:
    explicit Keeping(CourierKeeper::Body body)
        : keeper(
              options, [] { return CourierStart{.from = {.stream = {}, .next_block = 5}}; }, clock,
              std::move(body)) {}

    // Looks until so many notes have come, at most a minute.
    std::vector<std::string> await_notes(size_t wanted) {
        const core::Deadline deadline = core::Deadline::after(seconds(60));
        while (messages.size() < wanted) {
            for (const Note& note : keeper.look()) messages.push_back(note.message);
            if (deadline.is_over()) {
                ADD_FAILURE() << "no " << wanted << " notes within a minute";
                break;
            }
            core::system_clock().sleep_until(core::system_clock().monotonic() + milliseconds(2));
        }
        return std::exchange(messages, {});
    }

    CourierOptions options{.server = "http://127.0.0.1:1"};
    core::ManualClock clock{core::Time()};
    CourierKeeper keeper;
    std::vector<std::string> messages;
};

TEST(agent_courier, a_keeper_starts_nothing_where_nothing_is_wanted) {
    Keeping keeping([](const auto&, const auto&, auto&) -> core::Result<> { _exit(9); });
    keeping.options = {};
    EXPECT_THAT(keeping.keeper.look(), IsEmpty());
    EXPECT_THAT(keeping.keeper.finish(), IsEmpty());
}

TEST(agent_courier, a_courier_that_ends_is_started_again_where_it_was) {
    Keeping keeping([](const CourierOptions&, const CourierStart& start, CourierEnd& link) -> core::Result<> {
        link.add({.message = fmt::format("from {}, restart {}", start.from.next_block, start.restarts)});
        link.add({.kind = NoteKind::kReadTo, .value = 7 + static_cast<double>(start.restarts)});
        link.flush();
        if (start.restarts == 0) std::raise(SIGKILL);
        return core::system_error("it failed");
    });
    auto first = keeping.await_notes(2);
    EXPECT_EQ(first[0], "from 5, restart 0");
    EXPECT_THAT(first[1], HasSubstr("signal 9"));
    EXPECT_THAT(first[1], HasSubstr("started again in 1.00 s"));
    EXPECT_THAT(keeping.keeper.look(), IsEmpty()) << "it is not time yet";
    keeping.clock.advance(seconds(1));
    auto second = keeping.await_notes(2);
    EXPECT_EQ(second[0], "from 7, restart 1");
    EXPECT_THAT(second[1], HasSubstr("ended: it failed; it is started again in 2.00 s"));
    keeping.clock.advance(seconds(2));
    EXPECT_EQ(keeping.await_notes(2)[0], "from 8, restart 2");
    EXPECT_EQ(keeping.keeper.restarts(), 2U);
    keeping.keeper.finish();
}

TEST(agent_courier, a_courier_that_lived_long_did_not_fail_at_its_start) {
    Keeping keeping([](const CourierOptions&, const CourierStart&, CourierEnd&) -> core::Result<> {
        return core::system_error("it failed");
    });
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(keeping.keeper.look(), IsEmpty()) << "it is started";
        keeping.clock.advance(std::chrono::minutes(5));
        EXPECT_THAT(keeping.await_notes(1)[0], HasSubstr("again in 1.00 s"));
        keeping.clock.advance(seconds(1));
    }
}

TEST(agent_courier, at_the_end_a_courier_may_say_its_last_words) {
    Keeping keeping([](const CourierOptions&, const CourierStart&, CourierEnd& link) -> core::Result<> {
        link.add({.message = "here"});
        while (link.wait(seconds(60))) {
        }
        link.add({.message = "the last"});
        link.flush();
        return {};
    });
    EXPECT_THAT(keeping.await_notes(1), ElementsAre("here"));
    const auto notes = keeping.keeper.finish();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].message, "the last");
}

TEST(agent_courier, a_courier_that_does_not_end_is_ended) {
    Keeping keeping([](const CourierOptions&, const CourierStart&, CourierEnd& link) -> core::Result<> {
        link.add({.message = "here"});
        link.flush();
        for (;;) pause();
    });
    keeping.options.last_word = -seconds(3);  // with the keeper's margin: at once
    EXPECT_THAT(keeping.await_notes(1), ElementsAre("here"));
    const auto notes = keeping.keeper.finish();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0].message, HasSubstr("no answer"));
}

}  // namespace
}  // namespace belay::agent
