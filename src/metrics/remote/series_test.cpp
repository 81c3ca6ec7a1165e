#include "metrics/remote/series.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

core::Time at_milliseconds(int64_t milliseconds) {
    return core::time_from_nanoseconds(milliseconds * 1'000'000);
}

TEST(metrics_remote, samples_become_series_with_sorted_labels) {
    Family power{.name = "belay_gpu_power_watts", .unit = "watts"};
    power.samples = {{{{"node", "n1"}, {"Zone", "z"}, {"device", "GPU-1"}}, 2.0, at_milliseconds(2)},
                     {{{"device", "GPU-2"}, {"node", "n1"}}, 9.0, {}},
                     {{{"device", "GPU-1"}, {"node", "n1"}, {"Zone", "z"}}, 1.0, at_milliseconds(1)}};
    auto series = series_of(std::vector{power}, at_milliseconds(7));
    ASSERT_TRUE(series) << series.error().render();
    const Series first{
        .labels = {{"Zone", "z"}, {"__name__", "belay_gpu_power_watts"}, {"device", "GPU-1"}, {"node", "n1"}},
        .points = {{1, 1.0}, {2, 2.0}}};
    const Series second{
        .labels = {{"__name__", "belay_gpu_power_watts"}, {"device", "GPU-2"}, {"node", "n1"}},
        .points = {{7, 9.0}}};
    EXPECT_THAT(*series, ElementsAre(first, second));
}

TEST(metrics_remote, labels_are_what_receivers_take) {
    Family family{.name = "belay_x"};
    family.samples = {{{{"a", ""}, {"b", "\xff\n"}, {"cluster", "own"}}, 1.0, {}}};
    auto series = series_of(std::vector{family}, at_milliseconds(1),
                            {{"cluster", "alps"}, {"site", "cscs"}, {"none", ""}});
    ASSERT_TRUE(series);
    ASSERT_THAT(*series, SizeIs(1));
    EXPECT_THAT((*series)[0].labels, ElementsAre(Label{"__name__", "belay_x"}, Label{"b", "\xef\xbf\xbd\n"},
                                                 Label{"cluster", "own"}, Label{"site", "cscs"}));
    EXPECT_FALSE(series_of(std::vector{family}, at_milliseconds(1), {{"__x", "y"}}));
    family.samples = {{{{"__name__", "other"}}, 1.0, {}}};
    EXPECT_FALSE(series_of(std::vector{family}, at_milliseconds(1)));
    family.name = "belay x";
    EXPECT_FALSE(series_of(std::vector{family}, at_milliseconds(1)));
}

TEST(metrics_remote, a_moment_has_one_point_the_last) {
    Family family{.name = "belay_x"};
    const std::pair<int64_t, double> samples[] = {
        {5'000'001, 1.0}, {5'000'000, 2.0}, {4'999'999, 3.0}, {5'999'999, 4.0}};
    for (const auto& [nanoseconds, value] : samples)
        family.samples.push_back({{}, value, core::time_from_nanoseconds(nanoseconds)});
    auto series = series_of(std::vector{family}, at_milliseconds(1));
    ASSERT_TRUE(series);
    EXPECT_THAT((*series)[0].points, ElementsAre(Point{4, 3.0}, Point{5, 4.0}));
}

TEST(metrics_remote, a_histogram_becomes_its_series) {
    Family family{.name = "belay_wait_seconds", .type = MetricType::kHistogram, .unit = "seconds"};
    family.samples = {
        {{{"a", "x"}}, Histogram{.bounds = {0.5}, .counts = {1, 3}, .sum = 4.5}, at_milliseconds(9)}};
    auto series = series_of(std::vector{family}, at_milliseconds(1));
    ASSERT_TRUE(series);
    auto one = [](const char* name, std::vector<Label> more, double value) {
        Labels labels{{"__name__", name}, {"a", "x"}};
        labels.insert(labels.end(), more.begin(), more.end());
        return Series{labels, {{9, value}}};
    };
    EXPECT_THAT(*series,
                ElementsAre(one("belay_wait_seconds_bucket", {{"le", "+Inf"}}, 3),
                            one("belay_wait_seconds_bucket", {{"le", "0.5"}}, 1),
                            one("belay_wait_seconds_count", {}, 3), one("belay_wait_seconds_sum", {}, 4.5)));
}

TEST(metrics_remote, metadata_are_those_of_the_families) {
    const std::vector<Family> families{
        {.name = "belay_forks_total", .type = MetricType::kCounter, .help = "forks \xff"},
        {.name = "belay_gpu_power_watts", .unit = "watts"}};
    EXPECT_THAT(metadata_of(families),
                ElementsAre(Metadata{"belay_forks_total", MetricType::kCounter, "forks \xef\xbf\xbd", ""},
                            Metadata{"belay_gpu_power_watts", MetricType::kGauge, "", "watts"}));
}

}  // namespace
}  // namespace belay::metrics::remote
