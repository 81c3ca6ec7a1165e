#include "stream/cursor.h"

#include <gtest/gtest.h>

namespace belay::stream {
namespace {

const Cursor kCursor{.stream = {"alps", "n1", "5b0c-1", "recorder-t3", core::time_from_nanoseconds(17)},
                     .next_block = 42};

TEST(stream, a_cursor_comes_back_from_its_text) {
    EXPECT_EQ(to_text(kCursor), "1/alps/n1/5b0c-1/recorder-t3/17/42");
    EXPECT_EQ(parse_cursor(to_text(kCursor)).value(), kCursor);
    Cursor strange{.stream = {"", "a/b%\xff\n", std::string("\0x", 2), std::string(kMaxStreamName, '/'),
                              core::time_from_nanoseconds(-1)},
                   .next_block = 0};
    EXPECT_EQ(parse_cursor(to_text(strange)).value(), strange);
}

TEST(stream, a_cursor_has_one_text_only) {
    for (const char* text :
         {"", "1", "2/alps/n1/b/agent/17/42", "1/alps/n1/b/agent/17", "1/alps/n1/b/agent/17/42/",
          "1/alps/n1/b/agent/17/042", "1/alps/n1/b/agent/+17/42", "1/alps/n1/b/agent/17/-1",
          "1/%61lps/n1/b/agent/17/42", "1/alps/n%2f1/b/agent/17/42", "1/alps/n%2/b/agent/17/42",
          "1/alps/n 1/b/agent/17/42", "1/alps/n1/b/agent/17/18446744073709551615", "1/alps/n1/b/agent/17/42 ",
          "1/alps/n1/b/agent/99999999999999999999/1"})
        EXPECT_FALSE(parse_cursor(text)) << text;
    EXPECT_FALSE(parse_cursor("1/" + std::string(kMaxStreamName + 1, 'x') + "/n1/b/agent/17/42"));
    EXPECT_FALSE(parse_cursor(std::string(100'000, '/')));
}

}  // namespace
}  // namespace belay::stream
