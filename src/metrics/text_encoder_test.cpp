#include "metrics/text_encoder.h"

#include "metrics/text_reader.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

using ::testing::HasSubstr;

core::Time time_of(int64_t nanoseconds) {
    return core::time_from_nanoseconds(nanoseconds);
}

std::vector<Family> one_of_each() {
    Family cpu{.name = "belay_node_cpu_seconds_total",
               .type = MetricType::kCounter,
               .unit = "seconds",
               .help = "CPU \"time\"\nby \\ mode"};
    cpu.samples = {{{{"node", "n1"}, {"mode", "user"}}, 12.5, time_of(1'700'000'000'500'000'001)},
                   {{{"node", "n1"}, {"mode", "idle"}}, 1e20, time_of(1'700'000'000'500'000'001)}};
    Family load{.name = "belay_node_load_1m"};
    load.samples = {{{}, std::numeric_limits<double>::quiet_NaN(), {}}};
    Family info{.name = "belay_gpu_info", .type = MetricType::kInfo};
    info.samples = {{{{"name", "a\"b\\c\nd"}, {"empty", ""}}, 1.0, {}}};
    Family wait{.name = "belay_wait_seconds", .type = MetricType::kHistogram, .unit = "seconds"};
    wait.samples = {
        {{{"a", "x"}}, Histogram{.bounds = {0.5, 1}, .counts = {1, 2, 4}, .sum = 7.25}, time_of(0)},
        {{{"a", "y"}}, Histogram{.bounds = {-1}, .counts = {1, 3}, .sum = {}}, {}}};
    return {cpu, load, info, wait};
}

TEST(metrics, open_metrics_text) {
    auto text = encode_text(one_of_each(), TextForm::kOpenMetrics);
    ASSERT_TRUE(text) << text.error().render();
    EXPECT_EQ(*text, R"(# TYPE belay_node_cpu_seconds counter
# UNIT belay_node_cpu_seconds seconds
# HELP belay_node_cpu_seconds CPU \"time\"\nby \\ mode
belay_node_cpu_seconds_total{node="n1",mode="user"} 12.5 1700000000.500000001
belay_node_cpu_seconds_total{node="n1",mode="idle"} 1e+20 1700000000.500000001
# TYPE belay_node_load_1m gauge
belay_node_load_1m NaN
# TYPE belay_gpu info
belay_gpu_info{name="a\"b\\c\nd"} 1
# TYPE belay_wait_seconds histogram
# UNIT belay_wait_seconds seconds
belay_wait_seconds_bucket{a="x",le="0.5"} 1 0
belay_wait_seconds_bucket{a="x",le="1.0"} 2 0
belay_wait_seconds_bucket{a="x",le="+Inf"} 4 0
belay_wait_seconds_count{a="x"} 4 0
belay_wait_seconds_sum{a="x"} 7.25 0
belay_wait_seconds_bucket{a="y",le="-1.0"} 1
belay_wait_seconds_bucket{a="y",le="+Inf"} 3
# EOF
)");
}

TEST(metrics, prometheus_text) {
    auto text = encode_text(one_of_each(), TextForm::kPrometheus);
    ASSERT_TRUE(text) << text.error().render();
    EXPECT_EQ(*text, R"(# HELP belay_node_cpu_seconds_total CPU "time"\nby \\ mode
# TYPE belay_node_cpu_seconds_total counter
belay_node_cpu_seconds_total{node="n1",mode="user"} 12.5 1700000000500
belay_node_cpu_seconds_total{node="n1",mode="idle"} 1e+20 1700000000500
# TYPE belay_node_load_1m gauge
belay_node_load_1m NaN
# TYPE belay_gpu_info gauge
belay_gpu_info{name="a\"b\\c\nd"} 1
# TYPE belay_wait_seconds histogram
belay_wait_seconds_bucket{a="x",le="0.5"} 1 0
belay_wait_seconds_bucket{a="x",le="1.0"} 2 0
belay_wait_seconds_bucket{a="x",le="+Inf"} 4 0
belay_wait_seconds_count{a="x"} 4 0
belay_wait_seconds_sum{a="x"} 7.25 0
belay_wait_seconds_bucket{a="y",le="-1.0"} 1
belay_wait_seconds_bucket{a="y",le="+Inf"} 3
belay_wait_seconds_count{a="y"} 3
)");
}

TEST(metrics, nothing_to_show_is_a_whole_text_too) {
    EXPECT_EQ(encode_text({}, TextForm::kOpenMetrics).value(), "# EOF\n");
    EXPECT_EQ(encode_text({}, TextForm::kPrometheus).value(), "");
}

TEST(metrics, hostile_labels_stay_within_their_quotes) {
    Family family{.name = "belay_x"};
    family.samples = {
        {{{"a", "\"} 1\nbelay_y 2\n# EOF\n"}, {"b", std::string("\xff\0\xc3(\xed\xa0\x80", 7)}}, 1.0, {}}};
    auto text = encode_text(std::vector{family}, TextForm::kOpenMetrics);
    ASSERT_TRUE(text) << text.error().render();
    const std::string replaced = "\xef\xbf\xbd";
    EXPECT_EQ(*text, "# TYPE belay_x gauge\nbelay_x{a=\"\\\"} 1\\nbelay_y 2\\n# EOF\\n\",b=\"" + replaced +
                         std::string(1, '\0') + replaced + "(" + replaced + replaced + replaced +
                         "\"} 1\n# EOF\n");
}

TEST(metrics, what_breaks_a_rule_is_not_written) {
    auto fails_with = [](std::vector<Family> families, TextForm form, const char* why) {
        auto text = encode_text(families, form);
        ASSERT_FALSE(text) << *text;
        EXPECT_THAT(text.error().message(), HasSubstr(why));
    };
    fails_with({{.name = "belay_x"}, {.name = "belay_x"}}, TextForm::kOpenMetrics, "two families");
    fails_with({{.name = "belay x"}}, TextForm::kPrometheus, "cannot be the name");
    Family family{.name = "belay_x"};
    family.samples = {{{}, 1.0, time_of(1)}, {{}, 2.0, time_of(2)}};
    EXPECT_TRUE(encode_text(std::vector{family}, TextForm::kOpenMetrics));
    fails_with({family}, TextForm::kPrometheus, "two samples of one series");
}

}  // namespace
}  // namespace belay::metrics
