#include "report/json.h"

#include "core/json.h"
#include "report/testing/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

using nlohmann::ordered_json;

TEST(report, base64_is_rfc_4648) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64(std::string("\x00\xff\xfe", 3)), "AP/+");
}

TEST(report, script_json_cannot_end_its_element) {
    ordered_json json = {{"text", "</script><!-- & \xe2\x80\xa8 \xe2\x80\xa9 \xff"}, {"</script>", 1}};
    std::string text = script_safe_json(json);
    EXPECT_THAT(text, testing::Not(testing::ContainsRegex("[<>&]")));
    EXPECT_EQ(text.find("\xe2\x80\xa8"), std::string::npos);
    EXPECT_EQ(text.find("\xe2\x80\xa9"), std::string::npos);
    ordered_json back = core::parse_ordered_json(text);
    EXPECT_EQ(back["text"], "</script><!-- & \xe2\x80\xa8 \xe2\x80\xa9 \xef\xbf\xbd");
    EXPECT_EQ(back["</script>"], 1);
}

TEST(report, html_text_is_escaped) {
    EXPECT_EQ(escape_html("<a href=\"x\" id='y'>&"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
}

TEST(report, missing_numbers_are_null) {
    ReportModel model;
    model.charts.push_back({.id = "c",
                            .seconds = {0.5, 1.5, 2.5},
                            .series = {{.label = "a", .values = {0, kMissing, 1.0 / 3}}}});
    ordered_json json = to_json(model);
    EXPECT_EQ(json["charts"][0]["series"][0]["values"].dump(), "[0,null,0.333333]");
    EXPECT_TRUE(json["coverage"]["total"].is_null());
    EXPECT_TRUE(json["job"]["exit_status"].is_null());
    EXPECT_TRUE(json["training"].is_null());
}

TEST(report, numbers_keep_six_digits) {
    ReportModel model;
    model.charts.push_back(
        {.seconds = {}, .series = {{.values = {123456789.25, 1e-7 / 3, -0.0, 4e18, -2.5}}}});
    EXPECT_EQ(to_json(model)["charts"][0]["series"][0]["values"].dump(),
              "[123457000.0,3.33333e-08,0,4e+18,-2.5]");
}

TEST(report, grid_values_are_packed) {
    ReportModel model;
    model.grid = {.bins = 4,
                  .bin_seconds = 1,
                  .metrics = {{.id = "m", .values = {0, 5, 10, kMissing}, .means = {5}, .peaks = {10}}}};
    ordered_json metric = to_json(model)["grid"]["metrics"][0];
    EXPECT_EQ(metric["maximum"], 10);
    // 0, 32767, 65534, 65535 as little-endian 16-bit numbers
    EXPECT_EQ(metric["values"], base64(std::string("\x00\x00\xff\x7f\xfe\xff\xff\xff", 8)));
}

TEST(report, model_of_a_training_is_whole) {
    ordered_json json = to_json(assemble(synthetic_training()));
    EXPECT_EQ(json["job"]["id"], 4711);
    EXPECT_EQ(json["ranks"], 4);
    EXPECT_EQ(json["training"]["metric_label"], "MAE");
    EXPECT_EQ(json["training"]["target_reached"], true);
    EXPECT_EQ(json["start"], "2026-03-01T12:00:00.000000Z");
    for (const auto& chart : json["charts"])
        for (const auto& series : chart["series"])
            EXPECT_EQ(series["values"].size(), chart["seconds"].size()) << chart["id"];
}

}  // namespace
}  // namespace belay::report
