#include "record/archive/value_json.h"

#include <limits>

#include <gtest/gtest.h>

namespace belay::record {
namespace {

struct Row {
    Value value;
    std::string json;
    std::string text;
};

TEST(ValueJson, OfEveryTypeAsJsonAndAsText) {
    const std::vector<Row> rows = {
        {{}, "null", ""},
        {true, "true", "true"},
        {int64_t{-7}, "-7", "-7"},
        {0.25, "0.25", "0.25"},
        {std::numeric_limits<double>::quiet_NaN(), "null", ""},
        {-std::numeric_limits<double>::infinity(), "null", ""},
        {std::string("a \"b\""), R"("a \"b\"")", "a \"b\""},
        {core::time_from_nanoseconds(1'767'225'600'000'000'000), R"("2026-01-01T00:00:00.000000Z")",
         "2026-01-01T00:00:00.000000Z"},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(to_json(row.value).dump(), row.json);
        EXPECT_EQ(to_text(row.value), row.text);
    }
}

}  // namespace
}  // namespace belay::record
