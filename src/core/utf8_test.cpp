#include "core/utf8.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(core, utf8_keeps_valid_text) {
    for (std::string_view text : {"", "plain", "grüezi", "学习", "🧗 up", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(to_valid_utf8(text), text);
}

TEST(core, utf8_replaces_each_wrong_byte) {
    EXPECT_EQ(to_valid_utf8("a\xFF"
                            "b"),
              "a\uFFFDb");
    EXPECT_EQ(to_valid_utf8("\xC3"), "\uFFFD");                                // cut
    EXPECT_EQ(to_valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");                      // overlong
    EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
    EXPECT_EQ(to_valid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
    EXPECT_EQ(to_valid_utf8("\xE5\xAD\xE5\xAD\xA6"), "\uFFFD\uFFFD学");
}

TEST(core, utf8_is_taken_apart_and_put_together) {
    std::string_view text = "aü学🧗\xFF\xC3";
    std::u32string characters;
    while (!text.empty()) characters += take_utf8_character(text);
    EXPECT_EQ(characters, U"aü学🧗\uFFFD\uFFFD");
    std::string back;
    for (char32_t character : characters) append_utf8(back, character);
    EXPECT_EQ(back, "aü学🧗\uFFFD\uFFFD");
}

TEST(core, utf8_prefix_cuts_between_characters) {
    EXPECT_EQ(utf8_prefix("abc", 5), "abc");
    EXPECT_EQ(utf8_prefix("abc", 2), "ab");
    EXPECT_EQ(utf8_prefix("aü", 2), "a");
    EXPECT_EQ(utf8_prefix("a🧗b", 4), "a");
    EXPECT_EQ(utf8_prefix("a🧗b", 5), "a🧗");
    EXPECT_EQ(utf8_prefix("ü", 1), "");
    EXPECT_EQ(utf8_prefix("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
    EXPECT_EQ(utf8_prefix("", 0), "");
}

TEST(core, printable_leaves_no_control_character) {
    EXPECT_EQ(printable("grüezi 学习 🧗"), "grüezi 学习 🧗");
    EXPECT_EQ(printable("a\tb\n\x1b[31mc\x7f"), "a b??[31mc?");
    EXPECT_EQ(printable("\xC2\x9B\xC2\xA0"),
              "?\u00A0");  // C1's CSI goes, the blank that does not break stays
    EXPECT_EQ(printable("\x9B\xC2"), "\uFFFD\uFFFD");
    EXPECT_EQ(printable("a\u202Eb\u2066c\u2028d"), "a?b?c?d") << "they turn text round, or begin a line";
    EXPECT_EQ(printable("a\u061Cb\u200Ec\u200Fd"), "a?b?c?d");
    EXPECT_EQ(printable("\u2013 \u20AC \u205F"), "\u2013 \u20AC \u205F");
}

TEST(core, printable_json_reads_as_before) {
    EXPECT_EQ(printable_json("{\"a\": \"gr\u00FC\u00A0\"}\n"), "{\"a\": \"gr\u00FC\u00A0\"}\n");
    EXPECT_EQ(printable_json("[\"\xC2\x9B\u202E\x7f\"]"), "[\"\\u009b\\u202e\\u007f\"]");
}

TEST(core, columns_count_characters) {
    EXPECT_EQ(columns_of(""), 0u);
    EXPECT_EQ(columns_of("aü学"), 3u);
}

}  // namespace
}  // namespace belay::core
