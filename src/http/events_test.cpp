#include "http/events.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

std::string event_text(const Event& event) {
    return encode_event(event).value();
}

TEST(http, an_event_as_it_is_sent) {
    EXPECT_EQ(event_text({.data = "hello"}), "data: hello\n\n");
    EXPECT_EQ(event_text({.data = ""}), "data: \n\n");
    EXPECT_EQ(event_text({.data = "a\nb\r\nc\rd\n"}), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
    EXPECT_EQ(event_text({.data = ": no comment\nevent: x"}), "data: : no comment\ndata: event: x\n\n");
    EXPECT_EQ(event_text({.data = "{}", .event = "job", .id = "17", .retry = std::chrono::seconds(3)}),
              "event: job\nid: 17\nretry: 3000\ndata: {}\n\n");
    EXPECT_EQ(event_text({.data = "a\xff"}), "data: a\xef\xbf\xbd\n\n");
}

TEST(http, a_type_or_id_of_several_lines_is_refused) {
    for (const std::string& text : {std::string("a\nb"), std::string("a\rb"), std::string("a\0b", 3)}) {
        EXPECT_FALSE(encode_event({.data = "x", .event = text}));
        EXPECT_FALSE(encode_event({.data = "x", .id = text}));
    }
}

TEST(http, a_queue_gives_what_was_pushed_and_wakes_its_reader) {
    EventQueue queue;
    int woken = 0;
    ASSERT_TRUE(queue.push({.data = "before"}));
    queue.set_reader([&] { ++woken; });
    ASSERT_TRUE(queue.push({.data = "after"}));
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(queue.take().bytes, "data: before\n\ndata: after\n\n");
    EXPECT_EQ(queue.take().bytes, "");
    ASSERT_TRUE(queue.push({.data = "last"}));
    queue.close();
    EXPECT_EQ(woken, 3);
    EXPECT_EQ(queue.push({.data = "x"}).error().cause(), core::Cause::kEnded);
    const EventQueue::Taken taken = queue.take();
    EXPECT_EQ(taken.bytes, "data: last\n\n");
    EXPECT_TRUE(taken.ended);
    EXPECT_FALSE(taken.too_slow);
}

TEST(http, a_reader_that_does_not_keep_up_is_dropped) {
    EventQueue queue(100);
    ASSERT_TRUE(queue.push({.data = std::string(50, 'x')}));
    const auto second = queue.push({.data = std::string(50, 'x')});
    EXPECT_EQ(second.error().cause(), core::Cause::kNoSpace);
    EXPECT_FALSE(queue.is_open());
    EXPECT_EQ(queue.push({.data = "x"}).error().cause(), core::Cause::kEnded);
    const EventQueue::Taken taken = queue.take();
    EXPECT_EQ(taken.bytes, "");
    EXPECT_TRUE(taken.too_slow);
}

TEST(http, a_queue_without_reader_is_closed) {
    EventQueue queue;
    queue.set_reader([] {});
    EXPECT_TRUE(queue.is_open());
    queue.set_reader({});
    EXPECT_FALSE(queue.is_open());
}

}  // namespace
}  // namespace belay::http
