#include "core/toml.h"

#include "core/toml_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view part, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += part;
    return out;
}

std::string refused(const std::string& text) {
    auto table = parse_toml({text, "f.toml"});
    if (table) return "accepted";
    EXPECT_EQ(table.error().kind(), ErrorKind::kBadInput);
    return table.error().render();
}

TEST(core, toml_that_is_nested_too_deep_is_refused_before_the_library_sees_it) {
    for (const std::string& text :
         {repeated("a.", 200'000) + "a = 1", "[" + repeated("a.", 200'000) + "a]\n",
          "b = 1\n[[" + repeated("a . ", 200'000) + "a]]\n", "x = {" + repeated("\"a\".", 200'000) + "a = 1}",
          repeated("'a'.", 200'000)})
        EXPECT_THAT(refused(text), HasSubstr("a key has more than 32 parts")) << text.substr(0, 20);
    for (const std::string& text :
         {"a = " + repeated("[", 500'000), "a = " + repeated("{a=", 200'000), repeated("[", 500'000)})
        EXPECT_THAT(refused(text), HasSubstr("nested more than 32 levels deep")) << text.substr(0, 20);
    EXPECT_THAT(refused(std::string(kMaxTomlBytes + 1, '\n')), HasSubstr("larger than 1024 KiB"));
    EXPECT_THAT(refused("a = 1\n" + repeated("b.", 40) + "b = 1"), HasSubstr("f.toml:2:64: a key has"));
}

TEST(core, toml_at_its_limits_is_read) {
    std::string key = repeated("a.", kMaxTomlKeyParts - 1) + "a";
    EXPECT_TRUE(parse_toml({key + " = 1\n[b." + key.substr(2) + "]\n" + key + " = 1\n", "f"}));
    std::string deepest = key + " = 1";
    for (size_t i = 0; i < kMaxTomlDepth; ++i) deepest = key + " = {" + deepest + "}";
    auto table = parse_toml({deepest, "f"});
    EXPECT_TRUE(table) << table.error().render();
}

// One or two quotes may stand before the three that end a string.
TEST(core, toml_limits_know_where_a_string_ends) {
    const std::string key = repeated("a.", 200'000) + "a = 1\n";
    for (const std::string text : {"\"\"\"q\"\"\"", "\"\"\"q\"\"\"\"", "\"\"\"q\"\"\"\"\"", "'''q''''",
                                   "'''q'''''", "\"\"\"\"\"\"", "\"\"\"\"\"\"\"\"", "\"\"\"\\\"\"\"\""}) {
        EXPECT_TRUE(parse_toml({"s = " + text + "\nt = ['', \"\"] # \"\n", "f"})) << text;
        EXPECT_THAT(refused("s = " + text + "\n" + key), HasSubstr("a key has more than 32 parts")) << text;
        EXPECT_THAT(refused("s = " + text + " # \"\n" + key), HasSubstr("a key has more than 32 parts"))
            << text;
    }
}

// Points and brackets that are not of keys and tables.
TEST(core, toml_limits_know_strings_and_comments) {
    std::string dots(100, '.'), brackets(100, '[');
    std::string text = "# it's " + dots + brackets + "\"\n";
    text += "a = \"" + dots + "\\\"" + brackets + "\" # don't\n";
    text += "b = '" + dots + brackets + "\\'\n";
    text += "c = \"\"\"\n" + dots + "\n\"\" \\\"\"\" " + brackets + "\"\"\"\n";
    text += "d = '''" + dots + "\n'' " + brackets + "'''\n";
    text += "e = [" + repeated("1.5, ", 100) + "]\n";
    text += "'" + dots + "' = \"\"\nf = ''\n";
    for (int i = 0; i < 100; ++i) text += fmt::format("g{}.h = [[1], [2.5]] # [\n", i);
    EXPECT_FALSE(find_excess(text));
    auto table = parse_toml({text, "f"});
    EXPECT_TRUE(table) << table.error().render();
}

}  // namespace
}  // namespace belay::core
