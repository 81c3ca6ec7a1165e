#include "metrics/model.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

using ::testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

core::Time at(int64_t seconds) {
    return core::time_from_nanoseconds(seconds * 1'000'000'000);
}

struct NameCase {
    const char* name;
    MetricType type;
    const char* unit;
    const char* why;  // part of the message; nullptr: it is right
};

TEST(metrics, names_units_and_types_belong_together) {
    using enum MetricType;
    const std::string long_name(201, 'a');
    const NameCase cases[] = {
        {"belay_gpu_power_watts", kGauge, "watts", nullptr},
        {"belay_node_cpu_seconds_total", kCounter, "seconds", nullptr},
        {"belay_node_forks_total", kCounter, "", nullptr},
        {"belay_gpu_pcie_bytes_per_second", kGauge, "bytes_per_second", nullptr},
        {"belay_wait_seconds", kHistogram, "seconds", nullptr},
        {"belay_gpu_info", kInfo, "", nullptr},
        {"", kGauge, "", "cannot be the name"},
        {"1st", kGauge, "", "cannot be the name"},
        {"belay:rate", kGauge, "", "cannot be the name"},
        {"belay_Load", kGauge, "", "cannot be the name"},
        {"belay_caf\xc3\xa9", kGauge, "", "cannot be the name"},
        {"belay load", kGauge, "", "cannot be the name"},
        {long_name.c_str(), kGauge, "", "201 bytes"},
        {"belay_node_forks", kCounter, "", "the name of a counter ends in _total"},
        {"_total", kCounter, "", "ends in _total"},
        {"belay_gpu", kInfo, "", "the name of an info ends in _info"},
        {"belay_inodes_total", kGauge, "", "means another type than gauge"},
        {"belay_cpu_count", kGauge, "", "means another type than gauge"},
        {"belay_x_sum_total", kCounter, "", "_sum at the end"},
        {"belay_gpu_info", kGauge, "", "means another type"},
        {"belay_wait_bucket", kHistogram, "", "means another type"},
        {"belay_power", kGauge, "watts", "must end in _watts"},
        {"belay_swatts", kGauge, "watts", "must end in _watts"},
        {"belay_wait_seconds_total", kCounter, "bytes", "must end in _bytes"},
        {"belay_wait_milliseconds", kGauge, "milliseconds", "milliseconds are not a base unit"},
        {"belay_link_bits_per_second", kGauge, "", "bits are not a base unit"},
        {"belay_used_percent", kGauge, "", "not a base unit"},
        {"belay_mebibytes_used", kGauge, "", "not a base unit"},
        {"belay_gpu_seconds_info", kInfo, "seconds", "an info has no unit"},
    };
    for (const NameCase& one : cases) {
        auto result = check_name({.name = one.name, .type = one.type, .unit = one.unit});
        EXPECT_EQ(result.has_value(), one.why == nullptr) << one.name;
        if (one.why == nullptr || result) continue;
        EXPECT_THAT(result.error().message(), HasSubstr(one.why)) << one.name;
        EXPECT_EQ(result.error().kind(), core::ErrorKind::kBadInput);
    }
}

TEST(metrics, labels_have_names_that_receivers_take) {
    EXPECT_TRUE(check_labels({{"node", "n1"}, {"dev", ""}, {"_Kind2", "any \xff\n bytes"}}));
    for (const char* name :
         {"", "2nd", "a-b", "a:b", "caf\xc3\xa9", "__name__", "__x", "le", "quantile", "a b", "a\n"})
        EXPECT_FALSE(check_labels({{name, "x"}})) << name;
    EXPECT_FALSE(check_labels({{std::string("a\0b", 3), "x"}}));
    EXPECT_FALSE(check_labels({{std::string(100'000, 'a'), "x"}}));
    auto twice = check_labels({{"a", "1"}, {"b", "2"}, {"a", "1"}});
    ASSERT_FALSE(twice);
    EXPECT_THAT(twice.error().message(), HasSubstr("label a stands there twice"));
}

TEST(metrics, values_fit_their_type) {
    const Family gauge{.name = "belay_load"};
    const Family counter{.name = "belay_forks_total", .type = MetricType::kCounter};
    const Family info{.name = "belay_gpu_info", .type = MetricType::kInfo};
    for (double value : {-1.0, 0.0, kNotANumber, std::numeric_limits<double>::infinity()})
        EXPECT_TRUE(check_sample(gauge, {.value = value})) << value;
    EXPECT_TRUE(check_sample(counter, {.value = 0.0}));
    EXPECT_TRUE(check_sample(counter, {.value = std::numeric_limits<double>::infinity()}));
    EXPECT_FALSE(check_sample(counter, {.value = -1e-9}));
    EXPECT_FALSE(check_sample(counter, {.value = kNotANumber}));
    EXPECT_TRUE(check_sample(info, {}));
    EXPECT_FALSE(check_sample(info, {.value = 0.0}));
    EXPECT_FALSE(check_sample(gauge, {.value = Histogram{.counts = {1}}}));
    EXPECT_FALSE(check_sample({.name = "belay_wait", .type = MetricType::kHistogram}, {.value = 1.0}));
}

TEST(metrics, histograms_are_cumulative) {
    const Family family{.name = "belay_wait_seconds", .type = MetricType::kHistogram, .unit = "seconds"};
    auto is_right = [&](Histogram histogram) {
        return check_sample(family, {.value = std::move(histogram)}).has_value();
    };
    EXPECT_TRUE(is_right({.bounds = {0.5, 1}, .counts = {1, 1, 3}, .sum = 7.5}));
    EXPECT_TRUE(is_right({.counts = {0}, .sum = 0}));
    EXPECT_TRUE(is_right({.bounds = {-1, 1}, .counts = {1, 1, 3}}));
    EXPECT_FALSE(is_right({.bounds = {-1, 1}, .counts = {1, 1, 3}, .sum = 1}))
        << "a sum would not be a counter";
    EXPECT_FALSE(is_right({}));
    EXPECT_FALSE(is_right({.bounds = {1}, .counts = {1}}));
    EXPECT_FALSE(is_right({.bounds = {1, 1}, .counts = {1, 1, 1}}));
    EXPECT_FALSE(is_right({.bounds = {2, 1}, .counts = {1, 1, 1}}));
    EXPECT_FALSE(is_right({.bounds = {1}, .counts = {2, 1}}));
    EXPECT_FALSE(is_right({.bounds = {kNotANumber}, .counts = {1, 1}}));
    EXPECT_FALSE(is_right({.bounds = {std::numeric_limits<double>::infinity()}, .counts = {1, 1}}));
    EXPECT_FALSE(is_right({.counts = {1}, .sum = kNotANumber}));
    EXPECT_FALSE(is_right({.counts = {1}, .sum = -1}));
}

TEST(metrics, samples_of_a_series_stand_together_in_order) {
    Family family{.name = "belay_load"};
    const Labels one{{"node", "n1"}};
    const Labels two{{"node", "n2"}};
    family.samples = {{one, 1.0, at(1)}, {one, 2.0, at(2)}, {two, 1.0, at(1)}};
    EXPECT_TRUE(check(family));
    family.samples = {{one, 1.0, at(1)}, {two, 1.0, at(1)}, {one, 2.0, at(2)}};
    EXPECT_FALSE(check(family));
    family.samples = {{one, 1.0, at(2)}, {one, 2.0, at(1)}};
    EXPECT_FALSE(check(family));
    family.samples = {{one, 1.0, at(1)}, {one, 2.0, at(1)}};
    EXPECT_FALSE(check(family));
    family.samples = {{one, 1.0, {}}, {one, 2.0, at(1)}};
    EXPECT_FALSE(check(family));
    // These would be the same once they are written.
    family.samples = {{{{"a", "\xff"}}, 1.0, {}}, {{{"a", "\xfe"}}, 2.0, {}}};
    EXPECT_FALSE(check(family));
    family.samples = {{{{"a", ""}, {"b", "x"}}, 1.0, {}}, {{{"b", "x"}}, 2.0, {}}};
    EXPECT_FALSE(check(family));
    family.samples = {{{{"a", "x"}, {"b", "y"}}, 1.0, {}}, {{{"b", "y"}, {"a", "x"}}, 2.0, {}}};
    EXPECT_FALSE(check(family));
}

TEST(metrics, families_that_are_shown_together_have_names_of_their_own) {
    const std::vector<Family> right{{.name = "belay_a"},
                                    {.name = "belay_b_total", .type = MetricType::kCounter}};
    EXPECT_TRUE(check(right));
    const std::vector<Family> twice{{.name = "belay_a"}, {.name = "belay_a"}};
    EXPECT_FALSE(check(twice));
    // OpenMetrics calls both of them belay_a.
    const std::vector<Family> stems{{.name = "belay_a"}, {.name = "belay_a_info", .type = MetricType::kInfo}};
    auto result = check(stems);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("two families have the name belay_a"));
}

TEST(metrics, the_newest_of_each_series_is_kept) {
    const Labels one{{"node", "n1"}};
    const Labels two{{"node", "n2"}};
    std::vector<Family> families{{.name = "belay_load"}, {.name = "belay_x"}};
    families[0].samples = {
        {two, 1.0, at(1)}, {one, 3.0, at(3)}, {two, 2.0, at(2)}, {one, 4.0, at(4)}, {one, 1.0, at(1)}};
    keep_newest(families);
    ASSERT_EQ(families[0].samples.size(), 2u);
    EXPECT_EQ(families[0].samples[0].labels, one);
    EXPECT_EQ(std::get<double>(families[0].samples[0].value), 4.0);
    EXPECT_EQ(std::get<double>(families[0].samples[1].value), 2.0);
    EXPECT_TRUE(families[1].samples.empty());
    families[0].samples = {{one, 7.0, {}}, {one, 8.0, at(9)}};
    keep_newest(families);
    ASSERT_EQ(families[0].samples.size(), 1u);
    EXPECT_EQ(std::get<double>(families[0].samples[0].value), 7.0) << "one without a time is of now";
}

}  // namespace
}  // namespace belay::metrics
