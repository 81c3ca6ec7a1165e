// What the samples of one thing and one column come to in a span of time, or in a part of one; and as columns of a row. Pure.
#pragma once

#include "schema/schema.h"
#include "server/packed/span_table.h"
#include "stream/batch.h"

#include <cstdint>
#include <limits>

namespace belay::server {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A sum in which what is missing adds nothing, and which is missing where nothing was added.
double added(double sum, double value);

struct SpanCell {
    double min = kNoValue, max = kNoValue, sum = 0;  // of a state
    double first = kNoValue, last = kNoValue;
    double increase = kNoValue;  // of a counter, from its first reading here to its last
    uint64_t count = 0;
    int64_t first_sample = 0, last_sample = 0;  // nanoseconds, of the row

    void add(double value, schema::Sampled kind);
    // Another part of the same span. Parts of counters that lie within one another, as blocks that come late make them, are taken
    // for one without a new beginning.
    void merge(const SpanCell& other, schema::Sampled kind);
    double mean() const { return count > 0 ? sum / static_cast<double>(count) : kNoValue; }
};

// The mean to a thousandth of max - min, as a decimal: more digits would say nothing and take most of the bytes.
double rounded_mean(const SpanCell& cell);

// `column`: of spans.sampled().columns; `rows` are of spans.table().
SpanCell cell_at(const stream::Batch& rows, const SpanTable& spans, size_t column, size_t row);
// In the row that was added last.
void put_cell(stream::Batch& rows, const SpanTable& spans, size_t column, const SpanCell& cell);

}  // namespace belay::server
