#include "procfs/pid_environ.h"

#include "procfs/children.h"

#include <optional>

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

using namespace std::string_view_literals;

// What is found where the text comes in pieces of `size`.
std::optional<std::string> found_in(std::string_view text, size_t size, size_t longest = 20) {
    EnvironVariable variable("RANK", longest);
    for (; !text.empty(); text.remove_prefix(std::min(size, text.size())))
        if (variable.feed(text.substr(0, size))) return std::string(variable.value());
    return std::nullopt;
}

TEST(procfs, a_variable_is_found_in_an_environment) {
    for (size_t size : {1, 2, 3, 7, 100}) {
        EXPECT_EQ(found_in("HOME=/root\0RANK=12\0PATH=/bin\0"sv, size), "12");
        EXPECT_EQ(found_in("RANK=\0"sv, size), "");
        EXPECT_EQ(found_in("XRANK=1\0RANKS=2\0RANK\0RAN\0=RANK=3\0RANK=RANK=4\0"sv, size), "RANK=4");
        EXPECT_EQ(found_in("\0\0RANK=1\0RANK=2\0"sv, size), "1");
        EXPECT_EQ(found_in("XRANK=1\0"sv, size), std::nullopt);
        EXPECT_EQ(found_in("HOME=/root\0RANK=12"sv, size), std::nullopt) << "it may be cut";
        EXPECT_EQ(found_in("RANK=123456\0"sv, size, 4), "12345") << "longer than it may be";
    }
}

TEST(procfs, children_are_read) {
    EXPECT_EQ(parse_children("12 345 "), (std::vector<pid_t>{12, 345}));
    EXPECT_EQ(parse_children("12 345"), (std::vector<pid_t>{12})) << "cut";
    for (std::string_view none : {"", " ", "x ", "-1 ", "99999999999 "})
        EXPECT_TRUE(parse_children(none).empty());
}

}  // namespace
}  // namespace belay::procfs
