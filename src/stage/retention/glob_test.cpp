#include "stage/retention/glob.h"

#include <gtest/gtest.h>

namespace belay::stage {
namespace {

bool matches_glob(std::string_view pattern, std::string_view text) {
    return Glob(pattern).matches(text);
}
bool covers_path(std::string_view pattern, std::string_view path) {
    return Glob(pattern).covers(path);
}

TEST(stage_retention_glob, patterns) {
    EXPECT_TRUE(matches_glob("*.pt", "model.pt"));
    EXPECT_FALSE(matches_glob("*.pt", "a/model.pt"));
    EXPECT_TRUE(matches_glob("**.pt", "a/b/model.pt"));
    EXPECT_TRUE(matches_glob("a/**/c", "a/b/b/c"));
    EXPECT_TRUE(matches_glob("?[a-c][!a-c]", "xbx"));
    EXPECT_FALSE(matches_glob("?[a-c][!a-c]", "xbb"));
    EXPECT_FALSE(matches_glob("?", "/"));
    EXPECT_TRUE(matches_glob("[]]", "]"));
    EXPECT_TRUE(matches_glob("[", "["));
    EXPECT_TRUE(matches_glob("", ""));
    EXPECT_TRUE(matches_glob("*", "line\nfeed\xff"));
}

// A matcher that tries each length of each star takes longer than the age of the world for this.
TEST(stage_retention_glob, many_stars_take_no_time) {
    EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(200, 'a')));
}

TEST(stage_retention_glob, directories_may_be_none) {
    for (const char* path : {"keep", "a/keep", "a/b/keep"})
        EXPECT_TRUE(matches_glob("**/keep", path)) << path;
    for (const char* path : {"keeper", "a/xkeep", "keep/a", "/keep"})
        EXPECT_FALSE(matches_glob("**/keep", path)) << path;
    for (const char* path : {"a/c", "a/b/c", "a/b/b/c"}) EXPECT_TRUE(matches_glob("a/**/c", path)) << path;
    for (const char* path : {"ac", "a/xc", "xa/c"}) EXPECT_FALSE(matches_glob("a/**/c", path)) << path;
    EXPECT_TRUE(matches_glob("a**/c", "a/c"));
    EXPECT_FALSE(matches_glob("a**/c", "c"));
    EXPECT_FALSE(matches_glob("a/**", "a"));
    EXPECT_TRUE(matches_glob("a/**", "a/b/c"));
}

TEST(stage_retention_glob, sets_as_shells_and_regular_expressions_have_them) {
    EXPECT_TRUE(matches_glob("[^a-c]", "d"));
    EXPECT_FALSE(matches_glob("[^a-c]", "b"));
    EXPECT_FALSE(matches_glob("[^a-c]", "/"));
    EXPECT_TRUE(matches_glob("[a^]", "^"));
    EXPECT_TRUE(matches_glob("[!]]", "a"));
    EXPECT_FALSE(matches_glob("[!]]", "]"));
}

TEST(stage_retention_glob, covers_what_lies_beneath) {
    EXPECT_TRUE(covers_path("ada/keep", "ada/keep"));
    EXPECT_TRUE(covers_path("ada/keep", "ada/keep/a/b"));
    EXPECT_FALSE(covers_path("ada/keep", "ada/keeper"));
    EXPECT_FALSE(covers_path("ada/keep", "ada"));
    EXPECT_TRUE(covers_path("*/keep", "ada/keep/a/b"));
    EXPECT_FALSE(covers_path("*/keep", "ada/x/keep"));
    EXPECT_TRUE(covers_path("bob/*.pt", "bob/m.pt"));
    EXPECT_FALSE(covers_path("bob/*.pt", "bob/c/m.pt"));
}

TEST(stage_retention_glob, what_is_left_behind_a_prefix) {
    const auto rest = [](std::string_view pattern) { return Glob(pattern).after("/scratch/"); };
    EXPECT_TRUE(rest("/scratch/ada").covers("ada/x"));
    EXPECT_FALSE(rest("/scratch/ada").covers("bob"));
    EXPECT_TRUE(rest("/s*/ada").covers("ada/x"));
    EXPECT_FALSE(rest("/s*/ada").covers("bob/ada"));
    EXPECT_TRUE(rest("/**/keep").covers("ada/keep"));
    for (const char* pattern : {"/scratch", "/scr*", "/*"})
        EXPECT_TRUE(rest(pattern).is_everything()) << pattern;
    for (const char* pattern : {"/scratchy", "/home/ada", "scratch/ada", "/?/ada"})
        EXPECT_TRUE(rest(pattern).is_empty()) << pattern;
    EXPECT_FALSE(rest("/home/ada").covers("home/ada"));
    EXPECT_TRUE(Glob("/ada").after("/").covers("ada/x"));
}

TEST(stage_retention_glob, a_text_is_meant_itself) {
    EXPECT_TRUE(Glob::of_text("run[1]*").covers("run[1]*/x"));
    EXPECT_FALSE(Glob::of_text("run[1]*").covers("run1"));
}

}  // namespace
}  // namespace belay::stage
