// SQL that makes a series out of a periodic table: counters become rates, states means, bucket by bucket.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace belay::findings {

enum class SampleKind : uint8_t {
    kMean,     // of the samples in the bucket
    kHighest,  // of them
    kRate,     // of a counter, per second; missing where it went back
};

struct SeriesColumn {
    std::string_view name;
    SampleKind kind;
    std::string_view sql;  // over the columns of the source
    std::string_view unit;
    std::string_view doc;
};

struct SeriesTable {
    std::string_view name;
    std::string_view doc;
    std::string_view source;  // table of the record
    std::string_view filter;
    std::string_view keys;  // "pid, start_time": beside node, tells one counter from another
    std::span<const SeriesColumn> columns;
    // Among the keys: when the counters began, at 0. Where that is in the run, the first bucket has rates
    // too, and all rates are over the bucket of the node, so that those of short-lived ones add up to what
    // they did.
    std::string_view born = {};
};

struct Sampling {
    int64_t start_microseconds;  // of the run
    double interval_seconds;
    double bucket_seconds;
    double rows;  // of the source
};

// CREATE TABLE name (time, node, keys, seconds, columns). A counter is read at the end of each bucket, so a
// bucket costs one aggregate and not one window function per sample. Of long buckets of a table with very
// many rows only the end is read: what lived between two ends is not seen then.
std::string series_sql(const SeriesTable& table, const Sampling& sampling);

}  // namespace belay::findings
