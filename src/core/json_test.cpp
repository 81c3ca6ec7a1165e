#include "core/json.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using Json = nlohmann::json;

TEST(core, whole_numbers_that_fit_are_taken_from_json) {
    EXPECT_EQ(integer_from<int64_t>(Json::parse("-9223372036854775808")), INT64_MIN);
    EXPECT_EQ(integer_from<uint64_t>(Json::parse("18446744073709551615")), UINT64_MAX);
    EXPECT_EQ(integer_from<int8_t>(Json(-128)), -128);
    EXPECT_EQ(integer_from<uint16_t>(Json(65535)), 65535);
}

TEST(core, numbers_in_json_that_would_have_to_change_are_refused) {
    for (const char* text : {"1.5", "1.0", "1e104", "18446744073709551616", "9223372036854775808", "true",
                             "null", "\"1\"", "[1]"})
        EXPECT_THROW(integer_from<int64_t>(Json::parse(text)), Json::exception) << text;
    EXPECT_THROW(integer_from<uint64_t>(Json(-1)), Json::exception);
    EXPECT_THROW(integer_from<int8_t>(Json(128)), Json::exception);
}

}  // namespace
}  // namespace belay::core
