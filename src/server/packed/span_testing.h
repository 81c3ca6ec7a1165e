// Spans made a second way, as one would write it down, for tests of this folder.
#pragma once

#include "server/packed/spans.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace belay::server::testing {

struct Sample {
    int64_t time = 0;
    double value = 0;
};
using Samples = std::map<std::pair<std::string, std::string>, std::vector<Sample>>;  // by thing and column

inline std::string thing_text(const std::vector<ThingText>& keys) {
    std::string text;
    for (const ThingText& key : keys) text += std::string(key.column) + "=" + key.text + " ";
    return text;
}

inline void add_samples(const stream::Batch& batch, Samples& samples) {
    const SampledTable* sampled = sampled_table(batch.table());
    if (sampled == nullptr) return;
    for (size_t row = 0; row < batch.rows(); ++row) {
        std::vector<ThingText> keys;
        for (const size_t key : sampled->keys) {
            const auto& values = batch.values(key);
            const schema::Column& column = batch.table().columns[key];
            if (values.present[row] == 0) continue;
            keys.push_back(
                {column.name, column.type == schema::ColumnType::kText ? values.texts[row]
                              : column.type == schema::ColumnType::kTimestamp
                                  ? core::format_time(core::time_from_nanoseconds(values.integers[row]))
                                  : std::to_string(values.integers[row])});
        }
        for (const SampledColumn& column : sampled->columns) {
            const auto& values = batch.values(column.column);
            if (values.present[row] == 0) continue;
            const double value =
                values.reals.empty() ? static_cast<double>(values.integers[row]) : values.reals[row];
            samples[{thing_text(keys), std::string(batch.table().columns[column.column].name)}].push_back(
                {time_of(batch, row), value});
        }
    }
}

struct Naive {
    double min = kNoValue, max = kNoValue, mean = kNoValue, last = kNoValue, increase = kNoValue;
    uint64_t count = 0;
};

// The second way: sorted samples of one thing and column, span by span, as one would write it down.
inline std::map<int64_t, Naive> naive_spans(std::vector<Sample> samples, bool is_counter, bool is_unsteady,
                                            int64_t width) {
    std::ranges::stable_sort(samples, {}, &Sample::time);
    std::map<int64_t, Naive> spans;
    for (size_t i = 0; i < samples.size(); ++i) {
        int64_t start = samples[i].time / width * width;
        if (start == samples[i].time) start -= width;
        Naive& span = spans[start];
        const double value = samples[i].value;
        span.last = value;
        if (is_counter) {
            if (i > 0) {
                const double step = value - samples[i - 1].value;
                const bool went_back = step < 0;
                if (!went_back || is_unsteady)
                    span.increase = (std::isnan(span.increase) ? 0 : span.increase) + (went_back ? 0 : step);
            }
        } else {
            span.min = span.count == 0 ? value : std::min(span.min, value);
            span.max = span.count == 0 ? value : std::max(span.max, value);
            span.mean = ((span.count == 0 ? 0 : span.mean) * static_cast<double>(span.count) + value) /
                        static_cast<double>(span.count + 1);
        }
        ++span.count;
    }
    return spans;
}

inline bool is_near(double a, double b, double tolerance) {
    return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
}

inline void expect_as_naive(const SpanSeries& series, const std::vector<Sample>& samples, int64_t width) {
    const bool is_unsteady = series.column->name == "cpu_iowait_seconds_total";
    const auto naive = naive_spans(samples, series.is_counter, is_unsteady, width);
    ASSERT_EQ(series.spans.size(), naive.size()) << series.column->name;
    auto expected = naive.begin();
    for (const Span& span : series.spans) {
        const Naive& want = expected->second;
        ASSERT_EQ(core::to_nanoseconds(span.time), expected->first);
        ASSERT_EQ(span.count, want.count);
        ASSERT_EQ(span.last, want.last);
        ASSERT_TRUE(is_near(span.min, want.min, 0) && is_near(span.max, want.max, 0));
        const double spread = series.is_counter ? 0 : want.max - want.min;
        ASSERT_TRUE(is_near(span.mean, want.mean, spread / 1000 + 1e-9 * std::abs(want.mean)))
            << series.column->name << " " << span.mean << " " << want.mean;
        ASSERT_TRUE(is_near(span.increase, want.increase, 1e-6 * std::abs(want.last) + 1e-9))
            << series.column->name << " " << span.increase << " " << want.increase;
        ++expected;
    }
}

}  // namespace belay::server::testing
