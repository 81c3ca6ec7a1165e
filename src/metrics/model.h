// Metric families and their samples as Prometheus and its kin know them, and the rules of their names.
//
//   Family power{.name = "belay_gpu_power_watts", .type = MetricType::kGauge, .unit = "watts"};
//   power.samples.push_back({.labels = {{"node", "n1"}}, .value = 312.5, .time = now});
//   BELAY_CHECK(check(power));
//
// A family has the name under which its series are asked for: a counter ends in _total, an info in _info.
// OpenMetrics calls the family by what stands before that (`stem`). Rules: OpenMetrics 1.0 ("MetricFamily",
// "Metric Types"), Prometheus' "Metric and label naming", and what its promlint refuses.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::metrics {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram, kInfo };

// What a type is called, and how the name of a family of it ends.
struct MetricTypeRow {
    MetricType type;
    std::string_view name;
    std::string_view suffix;  // "" for none
};
inline constexpr MetricTypeRow kMetricTypes[] = {
    {MetricType::kCounter, "counter", "_total"},
    {MetricType::kGauge, "gauge", ""},
    {MetricType::kHistogram, "histogram", ""},
    {MetricType::kInfo, "info", "_info"},
};
constexpr const MetricTypeRow& row_of(MetricType type) {
    return kMetricTypes[static_cast<size_t>(type)];
}

struct Label {
    std::string name;
    std::string value;  // any bytes; what is not UTF-8 is written as U+FFFD, an empty one is as good as none
    auto operator<=>(const Label&) const = default;
};
using Labels = std::vector<Label>;

struct Histogram {
    std::vector<double> bounds;  // upper ones, finite, ascending; that of the last bucket, +Inf, is not here
    std::vector<uint64_t> counts;  // cumulative: one for each bound, and the last of all events
    std::optional<double> sum;     // of all events; missing where a bound is below 0
    bool operator==(const Histogram&) const = default;
};

struct Sample {
    Labels labels;
    std::variant<double, Histogram> value = 1.0;  // a number but for histograms; of an info it is 1
    std::optional<core::Time> time = {};          // missing: when it is read or sent
};

struct Family {
    std::string name;
    MetricType type = MetricType::kGauge;
    std::string unit = {};  // "seconds"; "" for none
    std::string help = {};
    std::vector<Sample> samples = {};
};

// "belay_node_cpu_seconds" of the counter belay_node_cpu_seconds_total.
std::string_view stem(const Family& family);

// Labels as they tell series apart: valid UTF-8, without empty values, sorted by name.
Labels identity_of(const Labels& labels);

// Name, unit and type of a family. Errors: kBadInput, with its name and what the rule is.
core::Result<> check_name(const Family& family);
// The names of labels. Errors: likewise.
core::Result<> check_labels(const Labels& labels);
// The labels and the value of one of a family's samples. Errors: likewise.
core::Result<> check_sample(const Family& family, const Sample& sample);
// All of the above; and that samples of one series stand together, each later than the one before. Errors:
// likewise.
core::Result<> check(const Family& family);
// The same of families that are shown together: each name once.
core::Result<> check(std::span<const Family> families);

// Leaves the newest sample of each series, sorted by labels: what somebody who asks now wants to see. One without a
// time is the newest.
void keep_newest(std::vector<Family>& families);

}  // namespace belay::metrics
