#include "report/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

TEST(report, base64_pads_as_rfc_4648) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64(std::string("\x00\xff\xfe", 3)), "AP/+");
}

}  // namespace
}  // namespace belay::report
