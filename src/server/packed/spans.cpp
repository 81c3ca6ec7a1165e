#include "server/packed/spans.h"

#include <algorithm>
#include <limits>

namespace belay::server {

namespace {

constexpr int64_t kMillisecond = 1'000'000;

int64_t floor_to(int64_t value, int64_t step) {
    const int64_t rest = value % step;
    return value - (rest < 0 ? rest + step : rest);
}

double number_at(const stream::Batch& batch, size_t column, size_t row) {
    const stream::ColumnValues& values = batch.values(column);
    if (values.present[row] == 0) return kNoValue;
    return values.reals.empty() ? static_cast<double>(values.integers[row]) : values.reals[row];
}

}  // namespace

int64_t span_start(int64_t nanoseconds, core::Duration width) {
    // Times this early or late are nobody's: they only must not overflow.
    const int64_t limit = std::numeric_limits<int64_t>::max() / 2;
    return floor_to(std::clamp(nanoseconds, -limit, limit) - 1, width.count());
}

namespace {

// Makes the rows of one span after the other.
class SpanRows {
  public:
    SpanRows(const SpanTable& spans, core::Duration width, const stream::Batch& samples)
        : spans_(spans),
          width_(width),
          samples_(samples),
          cells_(spans.columns().size()),
          out_(spans.table()) {}

    void add(uint32_t row, uint32_t thing) {
        const int64_t time = time_of(samples_, row);
        const int64_t start = span_start(time, width_);
        if (!rows_.empty() && (thing != thing_ || start != start_)) end_span();
        thing_ = thing;
        start_ = start;
        rows_.push_back(row);
        const auto& columns = spans_.sampled().columns;
        for (size_t i = 0; i < cells_.size(); ++i)
            cells_[i].add(number_at(samples_, columns[i].column, row), columns[i].kind);
    }

    stream::Batch finish() {
        if (!rows_.empty()) end_span();
        return std::move(out_);
    }

  private:
    void end_span() {
        out_.add_row(core::time_from_nanoseconds(start_), samples_.values(1).texts[rows_.back()]);
        const SampledTable& sampled = spans_.sampled();
        for (size_t i = 0; i < sampled.keys.size(); ++i)
            copy(sampled.keys[i], rows_.back(), spans_.keys()[i]);
        for (size_t i = 0; i < sampled.labels.size(); ++i) set_label(sampled.labels[i], spans_.labels()[i]);
        set_moment(spans_.first_sample(), rows_.front());
        set_moment(spans_.last_sample(), rows_.back());
        for (size_t i = 0; i < cells_.size(); ++i) put_cell(out_, spans_, i, cells_[i]);
        rows_.clear();
        std::ranges::fill(cells_, SpanCell());
    }

    void set_moment(size_t column, uint32_t row) {
        out_.set(column, core::time_from_nanoseconds(floor_to(time_of(samples_, row), kMillisecond)));
    }

    void set_label(size_t from, size_t to) {
        const auto& present = samples_.values(from).present;
        for (size_t i = rows_.size(); i > 0; --i)
            if (present[rows_[i - 1]] != 0) return copy(from, rows_[i - 1], to);
    }

    void copy(size_t from, size_t row, size_t to) {
        const stream::ColumnValues& values = samples_.values(from);
        if (values.present[row] == 0) return;
        stream::ColumnValues& target = out_.values(to);
        target.present.back() = 1;
        if (!values.texts.empty())
            target.texts.back() = values.texts[row];
        else if (!values.reals.empty())
            target.reals.back() = values.reals[row];
        else
            target.integers.back() = values.integers[row];
    }

    const SpanTable& spans_;
    core::Duration width_;
    const stream::Batch& samples_;
    std::vector<SpanCell> cells_;
    std::vector<uint32_t> rows_;  // of the span
    uint32_t thing_ = 0;
    int64_t start_ = 0;
    stream::Batch out_;
};

}  // namespace

stream::Batch make_spans(const SpanTable& spans, core::Duration width, const stream::Batch& samples,
                         std::span<const uint32_t> rows, std::span<const uint32_t> things) {
    SpanRows made(spans, width, samples);
    for (const uint32_t row : rows) made.add(row, things[row]);
    return made.finish();
}

stream::Batch joined_spans(const SpanTable& spans, const stream::Batch& rows) {
    const std::vector<uint32_t> things = things_of(rows, spans.keys());
    const RowOrder order = rows_by_thing(rows_by_time(rows), things);
    const auto is_same = [&](uint32_t a, uint32_t b) {
        return things[a] == things[b] && time_of(rows, a) == time_of(rows, b);
    };
    if (std::ranges::adjacent_find(order, is_same) == order.end()) return rows;
    const auto moment = [&](size_t column, uint32_t row) { return rows.values(column).integers[row]; };
    stream::Batch out(rows.table());
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        for (end = begin + 1; end < order.size() && is_same(order[begin], order[end]);) ++end;
        out.append(rows, order[end - 1], 1);
        if (end - begin == 1) continue;
        int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
        for (size_t i = begin; i < end; ++i) {
            first = std::min(first, moment(spans.first_sample(), order[i]));
            last = std::max(last, moment(spans.last_sample(), order[i]));
        }
        out.set(spans.first_sample(), core::time_from_nanoseconds(first));
        out.set(spans.last_sample(), core::time_from_nanoseconds(last));
        for (size_t column = 0; column < spans.columns().size(); ++column) {
            SpanCell cell;
            for (size_t i = begin; i < end; ++i)
                cell.merge(cell_at(rows, spans, column, order[i]), spans.sampled().columns[column].kind);
            put_cell(out, spans, column, cell);
        }
    }
    return out;
}

}  // namespace belay::server
