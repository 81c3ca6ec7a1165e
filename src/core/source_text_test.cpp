#include "core/source_text.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(core, source_text_finds_lines_and_columns) {
    SourceText source("one\r\nzwölf = 1\n\nlast", "f");
    SourcePosition place = source.at_character(2, 7);
    EXPECT_EQ(place.file, "f");
    EXPECT_EQ(std::string_view(place.line_text), "zwölf = 1");
    EXPECT_EQ(place.column, 8) << "in bytes";
    EXPECT_EQ(std::string_view(source.at(1, 4).line_text), "one");
    EXPECT_EQ(source.at(1, 99).column, 4) << "not behind the end of the line";
    EXPECT_EQ(source.at_character(1, 99).column, 4);
    EXPECT_TRUE(source.at(3, 1).line_text.empty());
    EXPECT_EQ(std::string_view(source.at(4, 2).line_text), "last");
    EXPECT_EQ(source.at_character(4, 5).column, 5);
    EXPECT_EQ(source.at(5, 3).column, 1) << "there is no such line";
    EXPECT_EQ(source.at_offset(7).line, 2);
    EXPECT_EQ(source.at_offset(7).column, 3);
    EXPECT_EQ(SourceText("", "f").at_offset(0).column, 1);
}

TEST(core, source_text_counts_characters_of_a_long_line) {
    std::string line;
    for (int i = 0; i < 1000; ++i) line += "aé…";  // 1, 2 and 3 bytes
    SourceText source("x\n" + line + "\ny", "f");
    for (int character = 1; character <= 3000; ++character) {
        constexpr int kBytes[] = {0, 1, 3};
        EXPECT_EQ(source.at_character(2, character).column,
                  1 + 6 * ((character - 1) / 3) + kBytes[(character - 1) % 3]);
    }
    EXPECT_EQ(std::string_view(source.at_character(3, 1).line_text), "y");
}

TEST(core, source_places_share_their_line) {
    SourcePosition here, there;
    {
        SourceText source(std::string(1'000'000, 'x'), "f");
        here = source.at(1, 10);
        there = source.at(1, 900'000);
    }
    EXPECT_EQ(std::string_view(here.line_text).data(), std::string_view(there.line_text).data());
    EXPECT_EQ(there.line_text.size(), 1'000'000u) << "also after the text itself has gone";
}

}  // namespace
}  // namespace belay::core
