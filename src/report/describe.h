// Says in words and in a few large numbers what the rest of the report shows.
#pragma once

#include "report/measurements.h"
#include "report/model.h"

#include <span>
#include <string>
#include <vector>

namespace belay::report {

// "MAE": what the metric is called, or the key under which it was logged.
std::string metric_label(const ProgressFacts& facts);

// Of those that are known; missing where none is.
double mean_of(std::span<const double> values);

// Of what was printed after the first ten steps.
struct Throughput {
    double mean = kMissing;
    double peak = kMissing;
};
Throughput steady_throughput(const Measurements& measurements);

// Nothing if the record has no progress. Whether a metric should fall or rise is taken from the side of the
// target on which it started.
std::optional<Training> describe_training(const Measurements& measurements);

// Fills `figures` and `summary` from the other parts.
void describe(ReportModel& model, const Measurements& measurements);

}  // namespace belay::report
