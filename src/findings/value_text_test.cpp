#include "findings/value_text.h"

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

TEST(findings, values_of_evidence_read_well) {
    EXPECT_EQ(value_text(-9e-08, "s"), "0 s");
    EXPECT_EQ(value_text(-2.0, "s"), "-2.00 s");
    EXPECT_EQ(value_text(-0.0, ""), "0");
    EXPECT_EQ(value_text(-1e-9, "ratio"), "0.0 %");
    EXPECT_EQ(value_text(-0.02, "ratio"), "-2.0 %");
    EXPECT_EQ(value_text(0.12, "ratio"), "12 %");
    EXPECT_EQ(value_text(53123.4, "1/s"), "53123");
    EXPECT_EQ(value_text(40.53, "1/s"), "40.5");
    EXPECT_EQ(value_text(1e20, ""), "1e+20");
    EXPECT_EQ(value_text(std::string("a\nb"), ""), "a\nb");
}

}  // namespace
}  // namespace belay::findings
