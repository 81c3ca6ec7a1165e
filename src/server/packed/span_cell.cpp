#include "server/packed/span_cell.h"

#include "record/series/counter.h"

#include <algorithm>
#include <cmath>

namespace belay::server {

namespace {

double real_at(const stream::Batch& rows, size_t column, size_t row) {
    const stream::ColumnValues& values = rows.values(column);
    return values.present[row] != 0 ? values.reals[row] : kNoValue;
}

void clear_last(stream::Batch& rows, size_t column) {
    stream::ColumnValues& values = rows.values(column);
    values.present.back() = 0;
    if (!values.reals.empty()) values.reals.back() = 0;
    if (!values.integers.empty()) values.integers.back() = 0;
}

}  // namespace

double added(double sum, double value) {
    if (std::isnan(value)) return sum;
    return std::isnan(sum) ? value : sum + value;
}

void SpanCell::add(double value, schema::Sampled kind) {
    if (std::isnan(value)) return;
    if (kind == schema::Sampled::kState) {
        min = count == 0 ? value : std::min(min, value);
        max = count == 0 ? value : std::max(max, value);
        sum += value;
    } else if (count == 0) {
        first = value;
    } else {
        increase = added(increase, record::increase(last, value, kind));
    }
    last = value;
    ++count;
}

void SpanCell::merge(const SpanCell& other, schema::Sampled kind) {
    if (other.count == 0) return;
    if (count == 0) {
        *this = other;
        return;
    }
    const SpanCell& earlier = other.first_sample < first_sample ? other : *this;
    const SpanCell& later = &earlier == this ? other : *this;
    SpanCell merged;
    merged.count = count + other.count;
    merged.first_sample = earlier.first_sample;
    merged.last_sample = std::max(last_sample, other.last_sample);
    merged.last = earlier.last_sample > later.last_sample ? earlier.last : later.last;
    if (kind == schema::Sampled::kState) {
        merged.min = std::min(min, other.min);
        merged.max = std::max(max, other.max);
        merged.sum = sum + other.sum;
    } else {
        merged.first = earlier.first;
        if (earlier.last_sample <= later.first_sample)
            merged.increase = added(
                added(earlier.increase, record::increase(earlier.last, later.first, kind)), later.increase);
        else
            merged.increase = record::increase(merged.first, merged.last, kind);
    }
    *this = merged;
}

double rounded_mean(const SpanCell& cell) {
    const double mean = cell.mean();
    const double spread = cell.max - cell.min;
    if (!(spread > 0)) return cell.min;
    constexpr int kFinest = 12;
    const double digits = std::floor(std::log10(spread)) - 3;
    double rounded = mean;
    if (digits >= 0) {
        const double step = std::pow(10, digits);
        rounded = std::round(mean / step) * step;
    } else if (digits >= -kFinest) {
        const double steps = std::pow(10, -digits);
        rounded = std::round(mean * steps) / steps;
    }
    return std::clamp(rounded, cell.min, cell.max);
}

SpanCell cell_at(const stream::Batch& rows, const SpanTable& spans, size_t column, size_t row) {
    const SpanColumns& places = spans.columns()[column];
    SpanCell cell;
    if (rows.values(places.count).present[row] == 0) return cell;
    cell.count = static_cast<uint64_t>(std::max<int64_t>(rows.values(places.count).integers[row], 0));
    cell.last = real_at(rows, places.last, row);
    cell.first_sample = rows.values(spans.first_sample()).integers[row];
    cell.last_sample = rows.values(spans.last_sample()).integers[row];
    if (spans.sampled().columns[column].is_counter()) {
        cell.first = real_at(rows, places.first, row);
        cell.increase = real_at(rows, places.increase, row);
    } else {
        cell.min = real_at(rows, places.min, row);
        cell.max = real_at(rows, places.max, row);
        cell.sum = real_at(rows, places.mean, row) * static_cast<double>(cell.count);
    }
    return cell;
}

void put_cell(stream::Batch& rows, const SpanTable& spans, size_t column, const SpanCell& cell) {
    const SpanColumns& places = spans.columns()[column];
    const auto put = [&](size_t place, double value) {
        clear_last(rows, place);
        if (cell.count > 0) rows.set(place, value);  // not where it is not finite
    };
    put(places.last, cell.last);
    if (spans.sampled().columns[column].is_counter()) {
        put(places.first, cell.first);
        put(places.increase, cell.increase);
    } else {
        put(places.min, cell.min);
        put(places.max, cell.max);
        put(places.mean, rounded_mean(cell));
    }
    clear_last(rows, places.count);
    if (cell.count > 0) rows.set(places.count, cell.count);
}

}  // namespace belay::server
