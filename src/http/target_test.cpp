#include "http/target.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using ::testing::ElementsAre;

using Parts = std::vector<std::string>;

TEST(http, a_target_gives_decoded_segments) {
    EXPECT_EQ(parse_target("/")->segments, Parts{});
    EXPECT_EQ(parse_target("/jobs/17")->segments, (Parts{"jobs", "17"}));
    EXPECT_EQ(parse_target("/a%20b/%C3%A4+c/100%25")->segments, (Parts{"a b", "ä+c", "100%"}));
    EXPECT_EQ(parse_target("/%252e%252e")->segments, Parts{"%2e%2e"});
    EXPECT_EQ(parse_target("/...")->segments, Parts{"..."});
    const auto with_slash = parse_target("/jobs/?x");
    ASSERT_TRUE(with_slash);
    EXPECT_EQ(with_slash->segments, Parts{"jobs"});
    EXPECT_TRUE(with_slash->ends_with_slash);
    EXPECT_EQ(with_slash->path, "/jobs/");
    EXPECT_FALSE(parse_target("/")->ends_with_slash);
}

TEST(http, targets_that_are_refused) {
    for (const std::string_view target :
         {"",       "jobs",   "*",       "http://h/", "//",        "//h/a",      "/a//b",
          "/.",     "/..",    "/a/../b", "/a/./b",    "/%2e%2e/b", "/%2E",       "/.%2e",
          "/a%2Fb", "/a%2fb", "/a%5Cb",  "/a\\b",     "/a%00",     "/a%0a",      "/a%7f",
          "/a%",    "/a%4",   "/a%zz",   "/%ff",      "/%c0%af",   "/%ed%a0%80", "/a b",
          "/a\tb",  "/<a>",   "/a\"b",   "/a#b",      "/\xc3\xa4", "/a|b",       "/a^b"}) {
        const auto parsed = parse_target(target);
        ASSERT_FALSE(parsed) << target;
        EXPECT_EQ(parsed.error().status, 400);
    }
    std::string deep;
    for (size_t i = 0; i < kMostSegments; ++i) deep += "/a";
    EXPECT_TRUE(parse_target(deep));
    EXPECT_FALSE(parse_target(deep + "/a"));
}

TEST(http, a_query_is_decoded_as_forms_are) {
    const auto query = parse_query("a=1&b=x+y%2B&&c&d==&a=2&%C3%A4=%0A");
    ASSERT_TRUE(query) << query.error().message;
    EXPECT_THAT(query->parameters(),
                ElementsAre(QueryParameter{"a", "1"}, QueryParameter{"b", "x y+"}, QueryParameter{"c", ""},
                            QueryParameter{"d", "="}, QueryParameter{"a", "2"}, QueryParameter{"ä", "\n"}));
    EXPECT_THAT(query->all("a"), ElementsAre("1", "2"));
    EXPECT_EQ(query->one("b").value(), std::optional<std::string_view>("x y+"));
    EXPECT_EQ(query->one("z").value(), std::optional<std::string_view>());
    EXPECT_EQ(query->one("a").error().status, 400);
}

TEST(http, numbers_of_a_query) {
    const auto query = parse_query("n=17&m=-1&o=&p=1&p=2&big=99999999999999999999");
    ASSERT_TRUE(query);
    EXPECT_EQ(query->number("n").value(), std::optional<uint64_t>(17));
    EXPECT_EQ(query->number("z").value(), std::optional<uint64_t>());
    for (const std::string_view name : {"m", "o", "p", "big"})
        EXPECT_EQ(query->number(name).error().status, 400) << name;
}

TEST(http, queries_that_are_refused) {
    for (const std::string_view query :
         {"a=%", "a=%4", "a=%g0", "%=a", "a=%ff", "a=%00", "=x", "a=b c", "a=\x01", "a=\xc3\xa4", "a#b"}) {
        const auto parsed = parse_query(query);
        ASSERT_FALSE(parsed) << query;
        EXPECT_EQ(parsed.error().status, 400);
    }
    std::string many = "a";
    for (size_t i = 1; i < kMostQueryParameters; ++i) many += "&a";
    EXPECT_TRUE(parse_query(many));
    EXPECT_FALSE(parse_query(many + "&a"));
    EXPECT_FALSE(parse_target("/a?b=%"));
}

TEST(http, percent_decoding) {
    EXPECT_EQ(percent_decode("%41%6a+"), "Aj+");
    EXPECT_EQ(percent_decode("a+b", true), "a b");
    EXPECT_EQ(percent_decode("%4"), std::nullopt);
    EXPECT_EQ(percent_decode("%"), std::nullopt);
    EXPECT_EQ(percent_decode("%-1"), std::nullopt);
    EXPECT_EQ(percent_decode("%41"), "A");
}

}  // namespace
}  // namespace belay::http
