#include "progress/plain_line.h"

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

TEST(progress, escapes_are_taken_out) {
    EXPECT_EQ(without_escapes("\x1b[31mstep:  4\x1b[0m loss: 1.5"), "step:  4 loss: 1.5");
    EXPECT_EQ(without_escapes("\x1b[1;38;5;208mx\x1b[K"), "x");
    EXPECT_EQ(without_escapes("\x1b]0;title\x07"
                              "a\x1b]8;;url\x1b\\b"),
              "ab");
    EXPECT_EQ(without_escapes("\x1b(Bx\x1b"
                              "7y"),
              "xy");
    EXPECT_EQ(without_escapes("a\bb\tc\x7f"), "ab\tc");
    EXPECT_EQ(without_escapes("grüezi"), "grüezi");
}

TEST(progress, cut_escapes_end_with_the_line) {
    for (std::string_view text : {"x\x1b", "x\x1b[", "x\x1b[31", "x\x1b]0;title", "x\x1b]0;\x1b", "x\x1b("})
        EXPECT_EQ(without_escapes(text), "x");
}

TEST(progress, labels_of_launchers_are_measured) {
    EXPECT_EQ(label_length("0: step"), 3u);
    EXPECT_EQ(label_length(" 12: step"), 5u);
    EXPECT_EQ(label_length("[rank3]: step"), 9u);
    EXPECT_EQ(label_length("[rank3]:step"), 8u);
    EXPECT_EQ(label_length("[default12]:step"), 12u);
    EXPECT_EQ(label_length("3: [rank3]: step"), 12u);
    for (std::string_view text :
         {"", "step 4", "12 steps", "12:30 started", "[rank]: x", "[rank3] x", ": x", "[0]: x"})
        EXPECT_EQ(label_length(text), 0u) << text;
}

}  // namespace
}  // namespace belay::progress
