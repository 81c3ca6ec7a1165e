#include "core/python_json.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>

namespace belay::core {
namespace {

using testing::HasSubstr;
using Json = OrderedJson;

Json parsed(std::string_view text, TextEncoding encoding = TextEncoding::kUtf8) {
    auto value = parse_python_json(text, encoding);
    EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message());
    return value ? *value : Json();
}

std::string refusal(std::string_view text) {
    auto value = parse_python_json(text);
    EXPECT_FALSE(value) << text;
    return value ? "" : value.error().message();
}

TEST(core, python_json_keeps_the_order_of_members) {
    EXPECT_EQ(write_python_json({{"step", 5}, {"loss", 0.25}, {"a", "b"}}),
              R"({"step": 5, "loss": 0.25, "a": "b"})");
}

TEST(core, python_json_replaces_bytes_that_are_not_utf8) {
    EXPECT_EQ(write_python_json("a\xff\xe2\x82z\xc0\x80"), R"("a\ufffd\ufffd\ufffdz\ufffd\ufffd")");
    EXPECT_EQ(write_python_json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // a surrogate is no character
}

TEST(core, python_float_text_reads_back_the_same) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        double number = std::bit_cast<double>(random());
        if (!std::isfinite(number)) continue;
        Json back = parsed(write_python_float(number));
        ASSERT_TRUE(back.is_number_float()) << write_python_float(number);
        ASSERT_EQ(std::bit_cast<uint64_t>(back.get<double>()), std::bit_cast<uint64_t>(number));
    }
}

TEST(core, python_json_follows_python_where_it_is_lenient) {
    EXPECT_TRUE(std::isnan(parsed("NaN").get<double>()));
    EXPECT_EQ(parsed("[Infinity, -Infinity]"), Json::array({HUGE_VAL, -HUGE_VAL}));
    EXPECT_EQ(parsed(R"({"a": 1, "b": 2, "a": 3})"), Json({{"a", 3}, {"b", 2}}));
    EXPECT_EQ(parsed("1e999"), Json(HUGE_VAL));
    EXPECT_EQ(parsed("-1e-999"), Json(-0.0));
    EXPECT_EQ(parsed("\"\x7f\""), Json("\x7f"));
    EXPECT_EQ(parsed(R"("\ud83d\ude00 \ud83d\u0041 \udc00")"), Json("😀 \uFFFDA \uFFFD"));
    EXPECT_EQ(parsed("[18446744073709551615, -9223372036854775808, 1]"),
              Json::array({UINT64_MAX, INT64_MIN, 1}));
    EXPECT_EQ(parsed("123456789012345678901234567890"), Json(123456789012345678901234567890.0));
    EXPECT_TRUE(parsed("1").is_number_integer());
    EXPECT_TRUE(parsed("1.0").is_number_float());
}

TEST(core, python_json_is_read_in_the_encoding_that_is_named) {
    EXPECT_EQ(parsed("\"\xe9\"", TextEncoding::kLatin1), Json("é"));
    EXPECT_EQ(parsed("\"Größe 🧗\""), Json("Größe 🧗"));
    EXPECT_EQ(parsed("\"ü\"", TextEncoding::kLatin1), Json("Ã¼"));
    EXPECT_THAT(refusal("\"ab\xe9\""), HasSubstr("byte 4: not UTF-8"));
    EXPECT_THAT(refusal("\"\xed\xa0\x80\""), HasSubstr("byte 2: not UTF-8")) << "a surrogate";
}

TEST(core, python_json_refuses_what_python_refuses) {
    for (std::string_view text :
         {"",       " ",       "{",       "[1,]",    "{\"a\":1,}",  "{'a': 1}",    "{\"a\" 1}",   "{a: 1}",
          "01",     "1.",      ".5",      "+1",      "-",           "1e",          "nan",         "tru",
          "nulll",  "[1] 2",   "\"a",     "\"\\x\"", "\"\\u12g4\"", "\"\\u 123\"", "\"\\u+123\"", "\"\\",
          "\"\t\"", "/* */ 1", "1 // one"})
        EXPECT_FALSE(parse_python_json(text)) << text;
    EXPECT_THAT(refusal("\"a\nb\""), HasSubstr("byte 3: control character"));
    EXPECT_THAT(refusal("{} x"), HasSubstr("byte 4: extra characters"));
}

TEST(core, python_json_depth_is_bounded) {
    auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_TRUE(parse_python_json(nested(kMaxPythonJsonDepth)));
    EXPECT_THAT(refusal(nested(kMaxPythonJsonDepth + 1)), HasSubstr("nested deeper than"));
    EXPECT_THAT(refusal(std::string(10'000'000, '[')), HasSubstr("nested deeper than"));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_THAT(refusal(objects), HasSubstr("nested deeper than"));
}

TEST(core, python_json_with_many_members_is_read_in_linear_time) {
    std::string text = "{";
    for (int i = 0; i < 200'000; ++i) text += fmt::format("\"{}\": 0, ", i);
    Json object = parsed(text + "\"7\": 1}");
    EXPECT_EQ(object.size(), 200'000u);
    EXPECT_EQ(object.at("7"), Json(1));
}

}  // namespace
}  // namespace belay::core
