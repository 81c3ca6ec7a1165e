#include "core/json.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using Json = nlohmann::json;

TEST(core, whole_numbers_that_fit_are_taken_from_json) {
    EXPECT_EQ(integer_from<int64_t>(parse_json("-9223372036854775808")), INT64_MIN);
    EXPECT_EQ(integer_from<uint64_t>(parse_json("18446744073709551615")), UINT64_MAX);
    EXPECT_EQ(integer_from<int8_t>(Json(-128)), -128);
    EXPECT_EQ(integer_from<uint16_t>(Json(65535)), 65535);
}

TEST(core, numbers_in_json_that_would_have_to_change_are_refused) {
    for (const char* text : {"1.5", "1.0", "1e104", "18446744073709551616", "9223372036854775808", "true",
                             "null", "\"1\"", "[1]"})
        EXPECT_THROW(integer_from<int64_t>(parse_json(text)), Json::exception) << text;
    EXPECT_THROW(integer_from<uint64_t>(Json(-1)), Json::exception);
    EXPECT_THROW(integer_from<int8_t>(Json(128)), Json::exception);
}

TEST(core, json_that_nests_too_deep_is_refused_before_it_is_read) {
    const std::string brackets(200'000, '[');
    const std::string closing(200'000, ']');
    EXPECT_TRUE(parse_json(brackets + closing).is_discarded());
    EXPECT_TRUE(parse_json(brackets).is_discarded());
    EXPECT_TRUE(parse_ordered_json("{\"a\":" + brackets + closing + "}").is_discarded());
    EXPECT_NE(parse_json_file(brackets + closing, "a.json").error().message().find("nests deeper"),
              std::string::npos);
    const std::string deep(kMaxJsonDepth, '[');
    EXPECT_TRUE(parse_json(deep + std::string(kMaxJsonDepth, ']')).is_array());
    EXPECT_TRUE(parse_json(R"(["[[[[\"[[[[\\", "]"])").is_array()) << "brackets in texts are none";
    EXPECT_FALSE(nests_too_deep("\"" + brackets));
    EXPECT_FALSE(nests_too_deep("[]" + std::string(1000, ']')));
}

TEST(core, mistakes_in_a_json_file_have_a_place) {
    auto mistake = parse_json_file("{\n  \"a\": 1,\n  oops}", "a.json");
    ASSERT_FALSE(mistake);
    EXPECT_EQ(mistake.error().position()->line, 3);
    EXPECT_EQ(mistake.error().position()->column, 3);
    EXPECT_FALSE(parse_json_file("", "a.json"));
    EXPECT_FALSE(parse_json_file("1e999", "a.json"));
    EXPECT_TRUE(parse_json("1e999").is_discarded());
    EXPECT_THROW((void)parse_json("oops").at("a"), Json::exception) << "as of a value of another type";
}

}  // namespace
}  // namespace belay::core
