// Samples as spans of time: what those of one thing and one column come to in 10 or 60 seconds.
//
// A sample belongs to the span that ends with it or after it: it stands for the time since the sample before, as in
// record/series. So the span of 10 s that begins at :20 has the samples after :20 up to and with :30.
//
// Of a state a span has min, max, last, count, and the mean of the samples, each counting the same. Of a counter it has last and
// count, and the increase: how far the counter went from the last reading before the span to the last one in it, by the rule of
// record/series/counter.h. A gap loses nothing; a step back is unknown and adds nothing; without any known step the increase is
// missing. A thing that began at 0 later than the reading began counts from there. min, max and mean of a counter are missing: its
// rate is the increase over the time.
//
// Spans are made when rows are packed, of those rows that are there. What is packed in several files, or comes late, makes several
// rows of one span, which are added up when they are read; so are streams of one node that follow one another. The first reading of
// a row is stored for that: the step from one row to the next is told when they are put together.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/packed/row_order.h"
#include "server/packed/span_cell.h"
#include "server/packed/span_table.h"
#include "stream/batch.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// The start of the span that a sample belongs to.
int64_t span_start(int64_t nanoseconds, core::Duration width);

// Rows of `spans.table()` made of rows of one stream. `rows`: those of a thing behind one another, in order of time.
stream::Batch make_spans(const SpanTable& spans, core::Duration width, const stream::Batch& samples,
                         std::span<const uint32_t> rows, std::span<const uint32_t> things);

// Of rows of the span table: several of one thing and span become one.
stream::Batch joined_spans(const SpanTable& spans, const stream::Batch& rows);

struct Span {
    core::Time time;  // when it begins
    double min = kNoValue, max = kNoValue, mean = kNoValue, last = kNoValue;
    double increase = kNoValue;
    uint64_t count = 0;
};

// What tells a thing from others, and what else is said of it: a name and a text each, null left out.
struct ThingText {
    std::string_view column;
    std::string text;
    bool operator==(const ThingText&) const = default;
};

// One column of one thing over time.
struct SpanSeries {
    std::string_view node;
    std::vector<ThingText> keys;
    std::vector<ThingText> labels;  // as of the last span
    const schema::Column* column = nullptr;
    bool is_counter = false;
    std::vector<Span> spans;  // in order of time, those without a sample left out
};

using SpanVisitor = std::function<core::Result<>(const SpanSeries& series)>;

// Puts the spans of a node together, whatever files and streams they come from. Holds those of one node and the wanted columns.
class SpanMerge {
  public:
    // `columns`: places in the sampled table; empty for all. `from`: where reading began, so that what was born later is known to.
    SpanMerge(const SpanTable& spans, core::Duration width, std::vector<size_t> columns, core::Time from);
    // Rows of the span table, in any order. A cell counts for the span of this width that its start lies in.
    void add(const stream::Batch& rows);
    // Each series that has a span which begins within [begin, end): by key, then column.
    core::Result<> finish(std::string_view node, core::Time begin, core::Time end, const SpanVisitor& visit);

  private:
    struct Thing {
        std::vector<ThingText> keys, labels;
        int64_t labelled = std::numeric_limits<int64_t>::min();
        double born = kNoValue;
        std::map<int64_t, std::vector<SpanCell>> spans;  // by start; a cell for each wanted column
    };
    Thing& thing_of(const stream::Batch& rows, size_t row);
    SpanSeries series_of(const Thing& thing, size_t wanted, core::Time begin, core::Time end) const;

    const SpanTable* spans_;
    core::Duration width_;
    std::vector<size_t> wanted_;  // places in spans_->columns()
    core::Time from_;
    std::map<std::string, Thing> things_;
};

}  // namespace belay::server
