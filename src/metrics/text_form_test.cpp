#include "metrics/text_form.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

TEST(metrics, the_form_is_what_the_asker_wants_more) {
    constexpr auto kOpen = TextForm::kOpenMetrics;
    constexpr auto kPlain = TextForm::kPrometheus;
    const std::pair<const char*, TextForm> cases[] = {
        {"", kPlain},
        {"*/*", kPlain},
        {"text/html,*/*;q=0.8", kPlain},
        {"application/*", kPlain},
        {"application/openmetrics-text", kOpen},
        {"application/openmetrics-text; version=1.0.0", kOpen},
        {"application/openmetrics-text; version=1.0.0; charset=utf-8", kOpen},
        {"APPLICATION/OpenMetrics-Text ; Version = \"1.0.0\"", kOpen},
        {"application/openmetrics-text; version=0.0.1", kPlain},
        {"application/openmetrics-text; version=2.0.0", kPlain},
        {"text/plain", kPlain},
        {"text/plain;version=0.0.4", kPlain},
        // Prometheus 2.40, 2.55 and 3.0, and VictoriaMetrics' agent
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         kOpen},
        {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
         "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         kOpen},
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
         "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.3",
         kOpen},
        {"text/plain;version=0.0.4;q=1,*/*;q=0.1", kPlain},
        // More than the one or the other
        {"text/plain;q=0.5, application/openmetrics-text;q=0.4", kPlain},
        {"text/plain;q=0.4, application/openmetrics-text;q=0.5", kOpen},
        {"text/plain, application/openmetrics-text", kOpen},
        {"application/openmetrics-text;q=0", kPlain},
        {"application/openmetrics-text;q=0, */*", kPlain},
        // The most specific range counts
        {"text/*;q=0.9, text/plain;q=0.1, application/openmetrics-text;q=0.5", kOpen},
        {"text/plain;q=0.9, text/plain;version=0.0.4;q=0.1, application/openmetrics-text;q=0.5", kOpen},
        // What is not a range does not count, and the others do
        {"application/openmetrics-text;q=2", kPlain},
        {"application/openmetrics-text;q=-1", kPlain},
        {"application/openmetrics-text;q=0.5000", kPlain},
        {"application/openmetrics-text;q=nan", kPlain},
        {",,; ;,=, application/openmetrics-text", kOpen},
        {"x/y;a=\"application/openmetrics-text, \\\", \"", kPlain},
        {"x/y;a=\"unended, application/openmetrics-text", kPlain},
        {"*/openmetrics-text", kPlain},
    };
    for (const auto& [accept, form] : cases) EXPECT_EQ(negotiate(accept), form) << accept;
}

TEST(metrics, a_long_header_accept_is_only_read) {
    EXPECT_EQ(negotiate(std::string(1 << 20, ',')), TextForm::kPrometheus);
    EXPECT_EQ(negotiate(std::string(1 << 20, ';')), TextForm::kPrometheus);
    EXPECT_EQ(negotiate(std::string(1 << 20, '"')), TextForm::kPrometheus);
}

TEST(metrics, content_types_are_those_of_the_specifications) {
    EXPECT_EQ(content_type(TextForm::kOpenMetrics),
              "application/openmetrics-text; version=1.0.0; charset=utf-8");
    EXPECT_EQ(content_type(TextForm::kPrometheus), "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace
}  // namespace belay::metrics
