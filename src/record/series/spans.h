// What the samples of a node come to in spans of time: the one place where counters of a record become rates.
//
// The rule of rates. Each sample stands for the time since the one before it. A counter becomes a rate over
// that time; it is missing where how far it went is (counter.h), and where samples lie more than kLongestStep
// intervals apart. Something that began at 0 since the moment before (a process) has a rate from its first
// sample on. Values that belong together (the processes of a node) are added up moment by moment. Each
// moment's value is then spread over the buckets that its time touches.
//
// The rule of increases (Fold::kIncrease), for what is counted and not spread. How far a counter went stands
// in the bucket of the sample that tells it, so that what is whole stays whole. Of it a gap loses nothing:
// what was counted since the last reading, however long ago, is told by the next. Something that began at 0
// since the frame did counts from its beginning, whenever it is first seen. An increase is missing, and not
// 0, in a bucket in which no step is known.
#pragma once

#include "record/series/counter.h"
#include "record/series/sampling.h"
#include "schema/schema.h"

#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

namespace belay::record {

using schema::Sampled;

// Buckets of time, the same for all that is compared.
struct SpanFrame {
    int64_t start_microseconds = 0;
    double bucket_seconds = 1;
    size_t buckets = 0;
    double interval_seconds = 1;  // of the samples
};

// All time since a moment as one span, in which increases are totals.
constexpr SpanFrame one_span(int64_t start_microseconds) {
    return {.start_microseconds = start_microseconds, .bucket_seconds = 1e12, .buckets = 1};
}

// A value of a moment, of what was added up over the node; NaN is missing.
using Formula = double (*)(std::span<const double> sums);

struct SpanOutput {
    Formula formula = nullptr;  // of the rates and states of a moment; of kIncrease of the increases
    schema::Fold fold = schema::Fold::kMean;
};

// One output over the buckets that its samples touch.
class Spans {
  public:
    struct Cell {
        double weighted = 0;                                         // the value's integral over the bucket
        double seconds = 0;                                          // of the bucket that samples tell of
        double highest = std::numeric_limits<double>::quiet_NaN();   // of single moments
        double increase = std::numeric_limits<double>::quiet_NaN();  // the only one of an output of that fold

        // Over the part of the bucket that samples tell of; NaN where none does.
        double mean() const {
            return seconds > 0 ? weighted / seconds : std::numeric_limits<double>::quiet_NaN();
        }
    };

    const Cell& operator[](size_t bucket) const {
        static constexpr Cell kNothing;
        return bucket >= first_ && bucket - first_ < cells_.size() ? cells_[bucket - first_] : kNothing;
    }
    size_t first() const { return first_; }
    size_t end() const { return first_ + cells_.size(); }  // behind the last bucket that was touched

    // `bucket`: not before the first one.
    void add(size_t bucket, double value, double seconds);
    void add_increase(size_t bucket, double value);

  private:
    Cell& cell(size_t bucket);

    size_t first_ = 0;
    std::vector<Cell> cells_;
};

// One sampled row.
struct SpanSample {
    int64_t time_microseconds = 0;
    uint64_t key = 0;  // tells one counter of the node from another
    // When its counters were 0; NaN where they have another beginning, or nobody knows.
    double born_microseconds = std::numeric_limits<double>::quiet_NaN();
    std::span<const double> values;  // by input; NaN is missing
};

// The samples of one node, in order of time.
class NodeSpans {
  public:
    NodeSpans(const SpanFrame& frame, std::span<const Sampled> inputs, std::span<const SpanOutput> outputs);

    void add(const SpanSample& sample);
    // To be called after the last sample. By output.
    std::span<const Spans> finish();

  private:
    struct Last {
        int64_t time;
        size_t place;  // of its values in before_
    };

    double rate(size_t input, double now, double before, double step) const;
    void add_increases(const SpanSample& sample, size_t place);
    void end_moment();
    void tell_increases(double until);
    void spread(double since, double until);

    SpanFrame frame_;
    double longest_;  // seconds
    std::vector<Sampled> inputs_;
    std::vector<SpanOutput> outputs_;
    bool has_increases_;
    std::unordered_map<uint64_t, Last> last_;
    std::vector<double> before_;
    std::vector<Counter> counters_;  // as before_; empty without increases
    std::vector<double> sums_;       // of this moment, by input
    std::vector<double> increases_;  // likewise
    std::vector<double> values_;     // of this moment, by output
    std::vector<Spans> spans_;
    int64_t moment_ = 0;    // microseconds
    int64_t previous_ = 0;  // the moment before
    bool any_ = false;
    bool any_before_ = false;
};

}  // namespace belay::record
