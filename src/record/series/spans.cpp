#include "record/series/spans.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace belay::record {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

double seconds_between(int64_t from, int64_t to) {
    return static_cast<double>(to - from) / 1e6;
}

// What is missing adds nothing, and a sum of nothing is missing.
void add_to(double& sum, double value) {
    if (!std::isnan(value)) sum = std::isnan(sum) ? value : sum + value;
}

}  // namespace

Spans::Cell& Spans::cell(size_t bucket) {
    if (cells_.empty()) first_ = bucket;
    if (bucket - first_ >= cells_.size()) cells_.resize(bucket - first_ + 1);
    return cells_[bucket - first_];
}

void Spans::add(size_t bucket, double value, double seconds) {
    Cell& cell = this->cell(bucket);
    cell.weighted += value * seconds;
    cell.seconds += seconds;
    if (!(cell.highest >= value)) cell.highest = value;
}

void Spans::add_increase(size_t bucket, double value) {
    add_to(cell(bucket).increase, value);
}

NodeSpans::NodeSpans(const SpanFrame& frame, std::span<const Sampled> inputs,
                     std::span<const SpanOutput> outputs)
    : frame_(frame),
      longest_(kLongestStep * frame.interval_seconds),
      inputs_(inputs.begin(), inputs.end()),
      outputs_(outputs.begin(), outputs.end()),
      has_increases_(std::ranges::find(outputs, schema::Fold::kIncrease, &SpanOutput::fold) != outputs.end()),
      sums_(inputs.size(), kMissing),
      increases_(inputs.size(), kMissing),
      values_(outputs.size(), kMissing),
      spans_(outputs.size()) {}

double NodeSpans::rate(size_t input, double now, double before, double step) const {
    if (!(step > 0 && step <= longest_)) return kMissing;
    return increase(before, now, inputs_[input]) / step;
}

void NodeSpans::add(const SpanSample& sample) {
    if (any_ && sample.time_microseconds != moment_) end_moment();
    moment_ = sample.time_microseconds;
    any_ = true;

    const auto [found, is_new] = last_.try_emplace(sample.key, Last{moment_, before_.size()});
    Last& last = found->second;
    double step = seconds_between(last.time, moment_);
    bool from_zero = false;
    if (is_new) {
        before_.resize(before_.size() + inputs_.size(), kMissing);
        if (has_increases_) {
            const bool began = sample.born_microseconds >= static_cast<double>(frame_.start_microseconds);
            counters_.resize(before_.size(), began ? Counter(0) : Counter());
        }
        const double age = (static_cast<double>(moment_) - sample.born_microseconds) / 1e6;
        if (age >= 0 && age <= longest_) {
            // Over the node's own step, so that the rates of what lives shortly add up to what it did.
            const double since = any_before_ ? seconds_between(previous_, moment_) : frame_.interval_seconds;
            step = std::max(age, std::min(since, longest_));
            from_zero = true;
        }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
        double& before = before_[last.place + i];
        const double now = sample.values[i];
        add_to(sums_[i], inputs_[i] == Sampled::kState ? now : rate(i, now, from_zero ? 0 : before, step));
        before = now;
    }
    if (has_increases_) add_increases(sample, last.place);
    last.time = moment_;
}

void NodeSpans::add_increases(const SpanSample& sample, size_t place) {
    for (size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i] != Sampled::kState)
            add_to(increases_[i], counters_[place + i].step(sample.values[i], inputs_[i]));
}

void NodeSpans::end_moment() {
    const double since = any_before_ ? seconds_between(previous_, moment_) : longest_ + 1;
    const double until = seconds_between(frame_.start_microseconds, moment_);
    for (size_t i = 0; i < outputs_.size(); ++i)
        values_[i] = outputs_[i].formula(outputs_[i].fold == schema::Fold::kIncrease ? increases_ : sums_);
    if (has_increases_) tell_increases(until);
    spread(until - (since <= longest_ ? since : frame_.interval_seconds), until);
    std::ranges::fill(sums_, kMissing);
    std::ranges::fill(increases_, kMissing);
    previous_ = moment_;
    any_before_ = true;
}

// And leaves nothing of them to be spread. A sample belongs to the bucket that ends with it.
void NodeSpans::tell_increases(double until) {
    const double bucket = std::ceil(until / frame_.bucket_seconds) - 1;
    const bool is_inside = bucket >= 0 && bucket < static_cast<double>(frame_.buckets);
    for (size_t i = 0; i < outputs_.size(); ++i) {
        if (outputs_[i].fold != schema::Fold::kIncrease) continue;
        const double value = std::exchange(values_[i], kMissing);
        if (is_inside && !std::isnan(value)) spans_[i].add_increase(static_cast<size_t>(bucket), value);
    }
}

void NodeSpans::spread(double since, double until) {
    const double width = frame_.bucket_seconds;
    const auto buckets = static_cast<double>(frame_.buckets);
    const auto first = static_cast<size_t>(std::clamp(std::floor(since / width), 0.0, buckets));
    const auto end = static_cast<size_t>(std::clamp(std::ceil(until / width), 0.0, buckets));
    for (size_t bucket = first; bucket < end; ++bucket) {
        const double begin = static_cast<double>(bucket) * width;
        const double part = std::min(until, begin + width) - std::max(since, begin);
        for (size_t i = 0; i < values_.size(); ++i)
            if (!std::isnan(values_[i])) spans_[i].add(bucket, values_[i], part);
    }
}

std::span<const Spans> NodeSpans::finish() {
    if (any_) end_moment();
    any_ = false;
    return spans_;
}

}  // namespace belay::record
