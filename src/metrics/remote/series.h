// Time series as remote write 1.0 has them: all labels of a series with its name among them, and its points.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "metrics/model.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::metrics::remote {

inline constexpr std::string_view kNameLabel = "__name__";

struct Point {
    int64_t milliseconds = 0;  // since 1970
    double value = 0;
    bool stale = false;  // the series ends here; the value does not count
    bool operator==(const Point&) const = default;
};

struct Series {
    Labels labels;              // sorted by name, each once, none empty, kNameLabel among them
    std::vector<Point> points;  // in the order of time, each moment once
    bool operator==(const Series&) const = default;
};

// What a receiver is told of a family beside its samples.
struct Metadata {
    std::string family;
    MetricType type = MetricType::kGauge;
    std::string help;
    std::string unit;
    bool operator==(const Metadata&) const = default;
};

// The samples by series, sorted by labels; those without a time are of `now`. A histogram becomes its series _bucket,
// _count and _sum. Of several samples in one millisecond the last one stays. `external` are labels of the whole site (its
// cluster): a sample's own label of that name goes before. Errors: kBadInput of check_name(), check_labels() and
// check_sample().
core::Result<std::vector<Series>> series_of(std::span<const Family> families, core::Time now,
                                            const Labels& external = {});

std::vector<Metadata> metadata_of(std::span<const Family> families);

}  // namespace belay::metrics::remote
