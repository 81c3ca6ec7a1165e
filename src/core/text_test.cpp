#include "core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(core, text_trim_split_and_join) {
    EXPECT_EQ(trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(trim(" \n"), "");
    EXPECT_THAT(split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(split_words("  a \t bc "), ElementsAre("a", "bc"));
    EXPECT_THAT(split_words(" "), IsEmpty());
    EXPECT_EQ(join(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
    EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(core, text_in_lower_case) {
    EXPECT_EQ(lower_case("Az-09_@[`{"), "az-09_@[`{");
    EXPECT_EQ(lower_case("\xc3\x89T\xc3\x89"), "\xc3\x89t\xc3\x89");  // only ASCII
    EXPECT_EQ(lower_case(""), "");
}

TEST(core, text_numbers_are_the_whole_text) {
    EXPECT_EQ(parse_number<int>("-12"), -12);
    EXPECT_EQ(parse_number<unsigned>("12"), 12U);
    EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
    for (const char* text : {"", " 1", "1 ", "+1", "1x", "99999999999"})
        EXPECT_FALSE(parse_number<int>(text)) << text;
    EXPECT_FALSE(parse_number<unsigned>("-1"));
}

TEST(core, text_counts_of_things) {
    EXPECT_EQ(format_count(1, "node"), "1 node");
    EXPECT_EQ(format_count(0, "node"), "0 nodes");
    EXPECT_EQ(format_count(2, "entry", "entries"), "2 entries");
    EXPECT_EQ(format_count(~uint64_t{0}, "byte"), "18446744073709551615 bytes");
}

TEST(core, text_nearest_word) {
    constexpr std::string_view kWords[] = {"interval", "flush", "progress_pattern", "id"};
    EXPECT_EQ(nearest("intervall", kWords), "interval");
    EXPECT_EQ(nearest("itnerval", kWords), "interval");  // swapped neighbours are one edit
    EXPECT_EQ(nearest("flsuh", kWords), "flush");
    EXPECT_EQ(nearest("progres_patern", kWords), "progress_pattern");
    EXPECT_EQ(nearest("if", kWords), "id");
    EXPECT_EQ(nearest("flush", kWords), "flush");
    EXPECT_FALSE(nearest("something", kWords));
    EXPECT_FALSE(nearest("", kWords));
    EXPECT_FALSE(nearest(std::string(1'000'000, 'x'), kWords));
    EXPECT_FALSE(nearest("x", {}));
}

}  // namespace
}  // namespace belay::core
