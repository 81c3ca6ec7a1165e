#include "progress/fields.h"

#include <cmath>

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

TEST(progress, printed_numbers_are_read) {
    EXPECT_EQ(parse_printed_number("12"), 12);
    EXPECT_EQ(parse_printed_number("-0.5"), -0.5);
    EXPECT_EQ(parse_printed_number("+1.5"), 1.5);
    EXPECT_EQ(parse_printed_number("1e-3"), 1e-3);
    EXPECT_EQ(parse_printed_number("10,050"), 10050);
    EXPECT_EQ(parse_printed_number("-1,234,567.25"), -1234567.25);
    EXPECT_TRUE(std::isnan(parse_printed_number("nan").value()));
    EXPECT_EQ(parse_printed_number("-inf"), -INFINITY);
}

TEST(progress, what_is_no_number_is_nothing) {
    for (std::string_view text :
         {"",  ",", "1,",   ",1",    "1,23",      "0,5",  "1234,567", "1,234e5", "1,234,56", "--1", "+-",
          "+", "-", "+-+1", "1.2.3", "1,234.5,6", "0x10", "12 ",      "1,234.x", "-+1",      "++1"})
        EXPECT_FALSE(parse_printed_number(text).has_value()) << text;
}

TEST(progress, a_field_keeps_the_first_number) {
    ProgressEvent event;
    Field loss{"loss", &ProgressEvent::loss};
    EXPECT_TRUE(set_field(event, loss, 0.5));
    EXPECT_FALSE(set_field(event, loss, 0.25));
    EXPECT_EQ(event.loss, 0.5);
}

TEST(progress, integer_fields_take_whole_numbers_only) {
    ProgressEvent event;
    Field step{"step", &ProgressEvent::step};
    EXPECT_FALSE(set_field(event, step, 1.5));
    EXPECT_FALSE(set_field(event, step, 1e300));
    EXPECT_FALSE(set_field(event, step, NAN));
    EXPECT_FALSE(set_field(event, step, -INFINITY));
    EXPECT_EQ(event, ProgressEvent());
    EXPECT_TRUE(set_field(event, step, 7));
    EXPECT_EQ(event.step, 7);
}

TEST(progress, numbers_that_are_not_finite_are_noted_as_text) {
    ProgressEvent event;
    EXPECT_TRUE(set_field(event, {"loss", &ProgressEvent::loss}, NAN));
    EXPECT_EQ(event.text, R"({"loss":"NaN"})");
    EXPECT_TRUE(set_field(event, {"gradient_norm", &ProgressEvent::gradient_norm}, -INFINITY));
    EXPECT_EQ(event.text, R"({"loss":"NaN","gradient_norm":"-Infinity"})");
    EXPECT_FALSE(event.loss.has_value());
}

}  // namespace
}  // namespace belay::progress
