#include "bench/summary/convergence.h"

#include "bench/summary/reference_points.h"
#include "core/text.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr double kSignificance = 0.05;
constexpr double kBisectionTolerance = 1e-4;
// What stands for a run that did not converge: slower than all others, and so the one that is dropped.
constexpr double kNeverConverged = 1e9;
constexpr size_t kTrimmedRuns = 2;

// Without the fastest and the slowest.
size_t kept_of(size_t runs) {
    return runs > kTrimmedRuns ? runs - kTrimmedRuns : 0;
}

double between(double low_at, double high_at, double low, double high, double at) {
    return low + (high - low) * (at - low_at) / (high_at - low_at);
}

// Python's round(value, 3): of the exact value.
double to_three_decimals(double value) {
    if (std::abs(value) > 1e15) return value;
    return core::parse_number<double>(fmt::format("{:.3f}", value)).value_or(value);
}

ConvergencePoint point_of(const ReferenceRuns& runs, size_t required) {
    ConvergencePoint point{.batch = runs.batch,
                           .mean = trimmed_mean({runs.epochs.begin(), runs.epochs.end()}).value_or(0),
                           .deviation = population_deviation(runs.epochs),
                           .runs = kept_of(runs.epochs.size())};
    point.smallest = smallest_acceptable_mean(point.mean, point.deviation, kept_of(required), point.runs);
    return point;
}

void compare(ConvergenceVerdict& verdict, const ConvergencePoint& point, const ConvergenceOptions& options) {
    verdict.point = point;
    const double smallest = options.bisected ? as_bisected(point.mean, point.smallest) : point.smallest;
    verdict.point->smallest = smallest;
    verdict.passed = *verdict.mean >= smallest;
    // A log may say that a run took no epochs, or fewer: then nothing is scaled.
    if (verdict.passed && *verdict.mean > 0 && *verdict.mean < point.mean)
        verdict.scaling = point.mean / *verdict.mean;
}

std::string_view means_of(ConvergenceCase which) {
    switch (which) {
        case ConvergenceCase::kInterpolated:
            return "interpolated reference";
        case ConvergenceCase::kBelowSmallest:
            return "reference of the smallest batch size";
        default:
            return "reference";
    }
}

std::string comparison_text(const ConvergenceVerdict& verdict, std::string_view unit) {
    const ConvergencePoint& point = *verdict.point;
    std::string text =
        fmt::format("{:.3f} {} on average, and the {} at batch size {:g} needs {:.3f}, at least {:.4f}",
                    *verdict.mean, unit, means_of(verdict.which), point.batch, point.mean, point.smallest);
    if (verdict.scaling > 1) text += fmt::format("; the score is multiplied by {:.6f}", verdict.scaling);
    return text;
}

}  // namespace

std::optional<double> trimmed_mean(std::vector<double> values) {
    if (values.size() <= kTrimmedRuns) return std::nullopt;
    std::ranges::sort(values);
    return std::accumulate(values.begin() + 1, values.end() - 1, 0.0) /
           static_cast<double>(kept_of(values.size()));
}

double population_deviation(std::span<const double> values) {
    if (values.empty()) return 0;
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / count);
}

double smallest_acceptable_mean(double mean, double deviation, size_t submission_runs,
                                size_t reference_runs) {
    if (!(deviation > 0) || submission_runs == 0 || reference_runs == 0 ||
        submission_runs + reference_runs <= 2)
        return mean;
    const auto of_submission = static_cast<double>(submission_runs);
    const auto of_reference = static_cast<double>(reference_runs);
    const boost::math::students_t distribution(of_submission + of_reference - 2);
    const double t = boost::math::quantile(distribution, 1 - kSignificance);
    return std::max(0.0, mean - t * deviation * std::sqrt(1 / of_submission + 1 / of_reference));
}

double as_bisected(double mean, double exact) {
    if (exact >= mean) return mean;
    double low = 0, high = mean, middle = mean / 2;
    while (high - low > kBisectionTolerance) {
        (middle > exact ? high : low) = middle;
        const double next = (low + high) / 2;
        if (next == middle) break;  // beyond the precision of a double
        middle = next;
    }
    return middle;
}

std::vector<ConvergencePoint> convergence_points(int round, std::string_view benchmark) {
    std::vector<ConvergencePoint> points;
    const size_t required = required_runs(round, benchmark).value_or(0);
    for (const ReferenceRuns& runs : reference_runs(round, benchmark))
        points.push_back(point_of(runs, required));
    return points;
}

ConvergencePoint interpolated(const ConvergencePoint& low, const ConvergencePoint& high, double batch,
                              size_t required_runs) {
    ConvergencePoint point{.batch = batch,
                           .mean = between(low.batch, high.batch, low.mean, high.mean, batch),
                           .deviation = between(low.batch, high.batch, low.deviation, high.deviation, batch),
                           .runs = 2 * required_runs,
                           .interpolated = true};
    point.smallest =
        smallest_acceptable_mean(point.mean, point.deviation, kept_of(required_runs), point.runs);
    return point;
}

std::vector<ConvergencePoint> pruned(std::vector<ConvergencePoint> points, size_t required_runs) {
    if (points.empty()) return points;
    std::ranges::sort(points, {}, &ConvergencePoint::batch);
    points.erase(points.begin(), std::ranges::min_element(points, {}, &ConvergencePoint::mean));
    for (size_t at = 1; at + 1 < points.size();) {
        const ConvergencePoint line =
            interpolated(points[at - 1], points[at + 1], points[at].batch, required_runs);
        if (points[at].mean > line.mean)
            points.erase(points.begin() + static_cast<ptrdiff_t>(at));
        else
            ++at;
    }
    return points;
}

ConvergenceVerdict judge_convergence(std::span<const ConvergencePoint> pruned_points, size_t required_runs,
                                     double batch, std::span<const std::optional<double>> epochs,
                                     const ConvergenceOptions& options) {
    ConvergenceVerdict verdict;
    std::vector<double> values;
    size_t unconverged = 0;
    for (const std::optional<double>& each : epochs) {
        const bool converged = each && std::isfinite(*each);
        values.push_back(converged ? to_three_decimals(*each) : kNeverConverged);
        unconverged += converged ? 0 : 1;
    }
    if (unconverged > 1) {
        verdict.which = ConvergenceCase::kNotConverged;
        verdict.message = "insufficient convergence: more than one run did not converge";
        return verdict;
    }
    verdict.mean = trimmed_mean(values);
    if (!verdict.mean) {
        verdict.which = ConvergenceCase::kTooFewRuns;
        verdict.message = "too few runs: the fastest and the slowest do not count";
        return verdict;
    }
    if (pruned_points.empty()) {
        verdict.message = "the reference has no convergence points for this benchmark";
        return verdict;
    }
    const auto above = std::ranges::lower_bound(pruned_points, batch, {}, &ConvergencePoint::batch);
    if (above == pruned_points.end()) {
        verdict.which = ConvergenceCase::kAboveLargest;
        verdict.message = fmt::format(
            "missing RCP: the reference has no point at batch size {:g} or above, so one must be "
            "submitted",
            batch);
    } else if (above->batch == batch) {
        verdict.which = ConvergenceCase::kFound;
        compare(verdict, *above, options);
    } else if (above == pruned_points.begin()) {
        verdict.which = ConvergenceCase::kBelowSmallest;
        compare(verdict, *above, options);
    } else {
        verdict.which = ConvergenceCase::kInterpolated;
        compare(verdict, interpolated(*(above - 1), *above, batch, required_runs), options);
    }
    if (verdict.point) verdict.message = comparison_text(verdict, options.unit);
    if (!verdict.passed && verdict.which == ConvergenceCase::kBelowSmallest)
        verdict.message = "missing RCP: " + verdict.message;
    if (!verdict.passed && options.bypass) {
        verdict.passed = verdict.bypassed = true;
        verdict.message += "; let pass by rcp-bypass";
    }
    return verdict;
}

}  // namespace belay::bench
