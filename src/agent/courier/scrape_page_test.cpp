#include "agent/courier/scrape_page.h"

#include "metrics/text_form.h"
#include "metrics/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<metrics::Family> two_families() {
    return {{.name = "belay_gpu_power_watts",
             .unit = "watts",
             .help = "power",
             .samples = {{.labels = {{"node", "n1"}, {"device", "GPU-a"}}, .value = 312.5}}},
            {.name = "belay_agent_info",
             .type = metrics::MetricType::kInfo,
             .help = "the agent",
             .samples = {{.labels = {{"node", "n1"}}, .value = 1.0}}}};
}

ScrapePage page_of(std::optional<std::string> trouble = {}) {
    return {two_families, [trouble] { return trouble; }};
}

TEST(agent_courier, metrics_come_in_the_form_that_is_asked_for) {
    const ScrapePage page = page_of();
    const ScrapeAnswer plain = page.answer({.method = "GET", .path = "/metrics"});
    EXPECT_EQ(plain.status, 200);
    EXPECT_EQ(plain.content_type, metrics::content_type(metrics::TextForm::kPrometheus));
    EXPECT_THAT(plain.body, HasSubstr("belay_gpu_power_watts{node=\"n1\",device=\"GPU-a\"} 312.5\n"));
    const ScrapeAnswer open = page.answer(
        {.method = "GET", .path = "/metrics", .accept = "application/openmetrics-text; version=1.0.0"});
    EXPECT_THAT(open.content_type, StartsWith("application/openmetrics-text"));
    EXPECT_TRUE(open.body.ends_with("# EOF\n"));
    auto read = metrics::read_text(open.body, metrics::TextForm::kOpenMetrics);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->size(), 2U);
}

struct AskedAndGot {
    ScrapeRequest request;
    int status;
};

TEST(agent_courier, what_is_not_asked_for_rightly_gets_a_status_that_says_so) {
    const AskedAndGot rows[] = {
        {{.method = "HEAD", .path = "/metrics"}, 200},
        {{.method = "GET", .path = "/healthz"}, 200},
        {{.method = "HEAD", .path = "/healthz"}, 200},
        {{.method = "GET", .path = "/"}, 404},
        {{.method = "GET", .path = "/metrics/"}, 404},
        {{.method = "POST", .path = "/other"}, 404},
        {{.method = "POST", .path = "/metrics"}, 405},
        {{.method = "get", .path = "/metrics"}, 405},
        {{.method = "DELETE", .path = "/healthz", .has_body = true}, 405},
        {{.method = "GET", .path = "/metrics", .has_body = true}, 413},
    };
    for (const AskedAndGot& row : rows)
        EXPECT_EQ(page_of().answer(row.request).status, row.status)
            << row.request.method << " " << row.request.path;
}

TEST(agent_courier, an_agent_in_trouble_is_not_healthy) {
    const ScrapeAnswer answer =
        page_of("the newest row is 40 s old").answer({.method = "GET", .path = "/healthz"});
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body, "the newest row is 40 s old\n");
    EXPECT_EQ(page_of("trouble").answer({.method = "GET", .path = "/metrics"}).status, 200)
        << "what is known is shown all the same";
}

TEST(agent_courier, metrics_that_break_a_rule_are_an_error_of_ours) {
    const ScrapePage page([] { return std::vector<metrics::Family>{{.name = "Bad Name"}}; },
                          [] { return std::nullopt; });
    EXPECT_EQ(page.answer({.method = "GET", .path = "/metrics"}).status, 500);
}

}  // namespace
}  // namespace belay::agent
