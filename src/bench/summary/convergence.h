// Reference convergence points (RCP): whether a submission needed about as many epochs as the reference does at
// its batch size. Fewer than chance explains is a failure; a few fewer make its score longer.
//
//   auto points = pruned(convergence_points(3, "oc20"), 5);
//   ConvergenceVerdict verdict = judge_convergence(points, 5, 512, epochs, {});
//
// The rules are those of the RCP checker of mlcommons/logging 4.1.59; hpc_training_rules.adoc of
// mlcommons/training_policies states the test.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

// What the reference needs at one batch size, in epochs (OpenFold: samples).
struct ConvergencePoint {
    double batch = 0;
    double mean = 0;       // without the fastest and the slowest run
    double deviation = 0;  // population standard deviation of all runs
    size_t runs = 0;       // that count in the test: all but two, or 2N of an interpolated point
    double smallest = 0;   // the smallest mean of a submission that passes
    bool interpolated = false;
};

// Mean of `values` without the smallest and the largest; nothing for fewer than three.
std::optional<double> trimmed_mean(std::vector<double> values);
double population_deviation(std::span<const double> values);

// The mean m of `submission_runs` at which a one-sided t-test with equal variances against `reference_runs`
// of this mean and deviation reaches 0.05: mean - t(0.95, df) * deviation * sqrt(1/n_s + 1/n_r), with
// df = n_s + n_r - 2. The mean itself where the deviation is 0 or df is not positive; never below 0.
double smallest_acceptable_mean(double mean, double deviation, size_t submission_runs, size_t reference_runs);
// Where the official bisection, between 0 and the mean and until 1e-4 is left, ends for that exact value.
double as_bisected(double mean, double exact);

// One point for each batch size of the reference, by batch size. `required_runs` is N.
std::vector<ConvergencePoint> convergence_points(int round, std::string_view benchmark);

// The point between two others. `required_runs` is N.
ConvergencePoint interpolated(const ConvergencePoint& low, const ConvergencePoint& high, double batch,
                              size_t required_runs);

// Without batch sizes below the one that converges fastest, and then, going up, without each inner point that
// is slower than its neighbours' interpolation. After a removal the same position is tested again, with no
// step back: what is left need not be convex, as in the official tool.
std::vector<ConvergencePoint> pruned(std::vector<ConvergencePoint> points, size_t required_runs);

enum class ConvergenceCase {
    kFound,          // the reference has this batch size
    kInterpolated,   // between two of them
    kBelowSmallest,  // compared with the smallest
    kAboveLargest,   // fails: a reference for this batch size is missing
    kNoReference,    // the benchmark has none
    kNotConverged,   // two runs or more did not
    kTooFewRuns,     // nothing is left without the fastest and the slowest
};

struct ConvergenceOptions {
    bool bisected = false;             // the official tool's rounding of the smallest mean
    bool bypass = false;               // a failure of the comparison is let pass, with a remark
    std::string_view unit = "epochs";  // for the message
};

struct ConvergenceVerdict {
    bool passed = false;
    bool bypassed = false;  // passed only because of the bypass
    ConvergenceCase which = ConvergenceCase::kNoReference;
    std::optional<double> mean;             // of the submission
    std::optional<ConvergencePoint> point;  // that it was compared with
    double scaling = 1;   // the score is multiplied by it: reference mean / mean, if more than 1
    std::string message;  // one line
};

// `epochs`: of each run; nothing for one that did not converge. They count to three decimals.
ConvergenceVerdict judge_convergence(std::span<const ConvergencePoint> pruned_points, size_t required_runs,
                                     double batch, std::span<const std::optional<double>> epochs,
                                     const ConvergenceOptions& options);

}  // namespace belay::bench
