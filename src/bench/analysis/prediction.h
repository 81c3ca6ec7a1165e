// Time to train at a scale that was not measured.
//
//   T(n, B) = T_staging(n) + T_other + E(B) · (n_t / B) · t_step(n, B)
//
//   E(B)         = a · B^b (power) or a + b · ln B (logarithmic), whichever predicts held-out scales better; of one batch
//                  size, its epochs
//   t_step(n, B) = c_0 + c_1 · B / n + c_2 · log2 n, all >= 0: what does not shrink (Amdahl), the work of a unit, and a
//                  tree of messages. Of the evaluation, what falls on a step of its epoch is in it.
//   T_staging(n) = s_0 + s_1 / n, both >= 0
//   T_other      = mean of what neither staging nor epochs explain
//
// E is fitted over all systems of a benchmark, since it belongs to the training; the rest over one family, since it belongs
// to the machine. Errors are those of scales held out: fitted without them, then compared with them.
#pragma once

#include "bench/analysis/system.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::bench {

// What the model is fitted to: one system.
struct ScalePoint {
    std::string benchmark, family, label;
    double units = 0, batch = 0, epochs = 0, epoch_seconds = 0, train_samples = 0, seconds = 0, other = 0;
    std::optional<double> staging;
};
// Those systems of which all of that is known.
std::vector<ScalePoint> scale_points(std::span<const SystemResult> systems);

struct EpochLaw {
    enum class Kind : uint8_t { kConstant, kPower, kLogarithmic };
    Kind kind = Kind::kConstant;
    double a = 0, b = 0;
    double epochs(double batch) const;  // never below a tenth of an epoch
    std::string formula() const;        // "14.2 · B^0.28"
};
std::optional<EpochLaw> fit_epochs(std::span<const ScalePoint> points, EpochLaw::Kind kind);

struct StepLaw {
    double constant = 0, work = 0, messages = 0;  // c_0, c_1, c_2: seconds
    bool with_constant = false, with_messages = false;
    double seconds(double units, double batch) const;
    std::string formula() const;
};
// With one scale only the work is fitted, with two the constant as well, and with more the messages.
std::optional<StepLaw> fit_steps(std::span<const ScalePoint> points, bool with_constant, bool with_messages);

struct StagingLaw {
    double constant = 0, shared = 0;  // s_0 in seconds, s_1 in unit-seconds
    double seconds(double units) const;
    std::string formula() const;
};
std::optional<StagingLaw> fit_staging(std::span<const ScalePoint> points);

// A scale that the fit did not see.
struct HeldOut {
    std::string label;
    double units = 0, batch = 0, measured = 0, predicted = 0;  // seconds
    double error() const { return (predicted - measured) / measured; }
};

struct FamilyModel {
    std::string benchmark, family;
    std::vector<ScalePoint> points;  // of the family
    EpochLaw epochs;
    StepLaw steps;
    std::optional<StagingLaw> staging;
    double other = 0, train_samples = 0;
    double least_batch = 0, most_batch = 0, least_units = 0, most_units = 0;
    std::vector<HeldOut> held_out;                  // one for each system whose scale could be left out
    std::optional<double> mean_error, worst_error;  // of the absolute values
    std::vector<std::string> notes;
};

struct Prediction {
    std::string benchmark, family;
    double units = 0, batch = 0;
    double epochs = 0, step_seconds = 0, epoch_seconds = 0, staging = 0, other = 0, seconds = 0,
           unit_hours = 0;
    std::optional<double> mean_error, worst_error;
    std::vector<std::string> notes;  // what it extrapolates
};

// A model for each family of each benchmark that has a point.
std::vector<FamilyModel> fit_families(std::span<const ScalePoint> points);
// Nothing unless units and batch are above zero.
std::optional<Prediction> predict(const FamilyModel& model, double units, double batch);

// What was asked for: --predict units=N,batch=B. Either may be absent: `units` alone keeps the batch of the largest scale.
struct PredictionRequest {
    std::optional<double> units, batch;
};
// Errors: kBadInput.
core::Result<PredictionRequest> parse_prediction(std::string_view text);

}  // namespace belay::bench
