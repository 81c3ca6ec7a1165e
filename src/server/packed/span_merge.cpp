#include "record/series/counter.h"
#include "server/packed/spans.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

std::string text_at(const stream::Batch& rows, size_t column, size_t row) {
    const stream::ColumnValues& values = rows.values(column);
    switch (rows.table().columns[column].type) {
        case schema::ColumnType::kText:
            return values.texts[row];
        case schema::ColumnType::kTimestamp:
            return core::format_time(core::time_from_nanoseconds(values.integers[row]));
        case schema::ColumnType::kBoolean:
            return values.integers[row] != 0 ? "true" : "false";
        case schema::ColumnType::kReal:
            return fmt::format("{}", values.reals[row]);
        case schema::ColumnType::kInteger:
            break;
    }
    return fmt::format("{}", values.integers[row]);
}

std::vector<ThingText> texts_at(const stream::Batch& rows, std::span<const size_t> columns, size_t row) {
    std::vector<ThingText> texts;
    for (const size_t column : columns)
        if (rows.values(column).present[row] != 0)
            texts.push_back({rows.table().columns[column].name, text_at(rows, column, row)});
    return texts;
}

}  // namespace

SpanMerge::SpanMerge(const SpanTable& spans, core::Duration width, std::vector<size_t> columns,
                     core::Time from)
    : spans_(&spans), width_(width), from_(from) {
    const auto& sampled = spans.sampled().columns;
    for (size_t i = 0; i < sampled.size(); ++i)
        if (columns.empty() || std::ranges::find(columns, sampled[i].column) != columns.end())
            wanted_.push_back(i);
}

SpanMerge::Thing& SpanMerge::thing_of(const stream::Batch& rows, size_t row) {
    const auto [found, is_new] = things_.try_emplace(key_of(rows, spans_->keys(), row));
    Thing& thing = found->second;
    if (is_new) {
        thing.keys = texts_at(rows, spans_->keys(), row);
        const SampledTable& sampled = spans_->sampled();
        for (size_t i = 0; i < sampled.keys.size(); ++i)
            if (sampled.born == sampled.keys[i] && rows.values(spans_->keys()[i]).present[row] != 0)
                thing.born = static_cast<double>(rows.values(spans_->keys()[i]).integers[row]);
    }
    const int64_t start = time_of(rows, row);
    if (start >= thing.labelled) {
        thing.labels = texts_at(rows, spans_->labels(), row);
        thing.labelled = start;
    }
    return thing;
}

void SpanMerge::add(const stream::Batch& rows) {
    for (size_t row = 0; row < rows.rows(); ++row) {
        Thing& thing = thing_of(rows, row);
        const int64_t start = span_start(time_of(rows, row) + 1, width_);
        std::vector<SpanCell>& cells = thing.spans[start];
        cells.resize(wanted_.size());
        for (size_t i = 0; i < wanted_.size(); ++i)
            cells[i].merge(cell_at(rows, *spans_, wanted_[i], row),
                           spans_->sampled().columns[wanted_[i]].kind);
    }
}

SpanSeries SpanMerge::series_of(const Thing& thing, size_t wanted, core::Time begin, core::Time end) const {
    const SampledColumn& column = spans_->sampled().columns[wanted_[wanted]];
    SpanSeries series{.node = {},
                      .keys = thing.keys,
                      .labels = thing.labels,
                      .column = &spans_->sampled().table->columns[column.column],
                      .is_counter = column.is_counter(),
                      .spans = {}};
    const bool began = thing.born >= static_cast<double>(core::to_nanoseconds(from_));
    record::Counter counter = began ? record::Counter(0) : record::Counter();
    for (const auto& [start, cells] : thing.spans) {
        const SpanCell& cell = cells[wanted];
        if (cell.count == 0) continue;
        Span span{.time = core::time_from_nanoseconds(start), .last = cell.last, .count = cell.count};
        if (column.is_counter()) {
            const double step = counter.step(cell.first, column.kind);
            counter = record::Counter(cell.last);
            span.increase = added(step, cell.increase);
        } else {
            span.min = cell.min;
            span.max = cell.max;
            span.mean = cell.mean();
        }
        if (span.time >= begin && span.time < end) series.spans.push_back(span);
    }
    return series;
}

Result<> SpanMerge::finish(std::string_view node, core::Time begin, core::Time end,
                           const SpanVisitor& visit) {
    for (const auto& [key, thing] : things_)
        for (size_t i = 0; i < wanted_.size(); ++i) {
            SpanSeries series = series_of(thing, i, begin, end);
            if (series.spans.empty()) continue;
            series.node = node;
            BELAY_CHECK(visit(series));
        }
    things_.clear();
    return {};
}

}  // namespace belay::server
