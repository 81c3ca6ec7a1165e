#include "core/csv.h"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::core {
namespace {

using Json = nlohmann::ordered_json;

TEST(core, csv_quotes_what_would_end_a_field) {
    EXPECT_EQ(csv_field("plain; text"), "plain; text");
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("a \"b\""), "\"a \"\"b\"\"\"");
    EXPECT_EQ(csv_field("a\rb\nc"), "\"a\rb\nc\"");
    EXPECT_EQ(csv_field(""), "");
}

TEST(core, csv_of_values_has_one_field_for_each) {
    EXPECT_EQ(csv_field_of(nullptr), "");
    EXPECT_EQ(csv_field_of(0.5), "0.5");
    EXPECT_EQ(csv_field_of(true), "true");
    EXPECT_EQ(csv_field_of("ev\x1b[2Jil\n"), "ev?[2Jil?");
    EXPECT_EQ(csv_field_of({"one", "two, three", "a \"b\""}), "\"one; two, three; a \"\"b\"\"\"");
    EXPECT_EQ(csv_field_of(Json::array()), "");
    for (const char* formula : {"=1+1", "+A1", "@SUM(1)", "-1+2", "=cmd|' /C calc'!A0"})
        EXPECT_EQ(csv_field_of(formula), std::string("'") + formula);
    EXPECT_EQ(csv_field_of("-0.5"), "-0.5") << "a number";
    EXPECT_EQ(csv_field_of({"=1", "b"}), "'=1; b");
    EXPECT_EQ(csv_line(std::vector<Json>{"a", 1, nullptr, {"b", "c,d"}}), "a,1,,\"b; c,d\"\n");
}

}  // namespace
}  // namespace belay::core
