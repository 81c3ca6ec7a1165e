#include "progress/lines.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> split_in(std::span<const std::string_view> pieces, int64_t* cut = nullptr) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    auto take = [&](std::string_view line) { lines.emplace_back(line); };
    for (std::string_view piece : pieces) splitter.feed(piece, take);
    splitter.finish(take);
    if (cut != nullptr) *cut = splitter.lines_cut();
    return lines;
}

std::vector<std::string> split_whole(std::string_view text) {
    return split_in(std::array{text});
}

TEST(progress, lines_end_with_newline_return_or_both) {
    EXPECT_EQ(split_whole("a\nb\r\nc\rd"), (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(split_whole("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(split_whole("\r\r\n\n"), (std::vector<std::string>{"", "", ""}));
    EXPECT_EQ(split_whole(""), std::vector<std::string>{});
}

TEST(progress, lines_do_not_depend_on_the_pieces) {
    std::string_view text = "one\r\ntwo\r\r\nthree\n\r\nfour";
    std::vector<std::string> expected = split_whole(text);
    ASSERT_EQ(expected, (std::vector<std::string>{"one", "two", "", "three", "", "four"}));
    for (size_t i = 0; i <= text.size(); ++i)
        for (size_t j = i; j <= text.size(); ++j) {
            std::array pieces{text.substr(0, i), text.substr(i, j - i), text.substr(j)};
            EXPECT_EQ(split_in(pieces), expected) << i << " " << j;
        }
}

TEST(progress, lines_are_cut_at_their_limit_and_counted) {
    std::string longest(kLongestLine, 'x');
    std::string text = longest + "\n" + longest + "yyy\nend\n";
    for (size_t at : {size_t{1}, kLongestLine - 1, kLongestLine, kLongestLine + 1, 2 * kLongestLine + 2}) {
        int64_t cut = 0;
        std::string_view whole = text;
        std::vector<std::string> lines = split_in(std::array{whole.substr(0, at), whole.substr(at)}, &cut);
        ASSERT_EQ(lines.size(), 3u);
        EXPECT_EQ(lines[0], longest);
        EXPECT_EQ(lines[1], longest);
        EXPECT_EQ(lines[2], "end");
        EXPECT_EQ(cut, 1);
    }
}

TEST(progress, splitter_is_as_new_after_the_end) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    auto take = [&](std::string_view line) { lines.emplace_back(line); };
    splitter.feed("a\r", take);
    splitter.finish(take);
    splitter.feed("\nb", take);
    splitter.finish(take);
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "b"}));
}

TEST(progress, rate_limit_admits_so_many_each_second) {
    RateLimit limit(2);
    EXPECT_TRUE(limit.admit(10s));
    EXPECT_TRUE(limit.admit(10s + 900ms));
    EXPECT_FALSE(limit.admit(10s + 999ms));
    EXPECT_TRUE(limit.admit(11s));
    EXPECT_TRUE(limit.admit(11s));
    EXPECT_FALSE(limit.admit(11s));
    EXPECT_EQ(limit.refused(), 2);
}

}  // namespace
}  // namespace belay::progress
