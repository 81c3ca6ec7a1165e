#include "bench/analysis/prediction.h"

#include "bench/analysis/least_squares.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr double kLeastEpochs = 0.1;

template <typename Member>
std::set<double> distinct(std::span<const ScalePoint> points, Member member) {
    std::set<double> values;
    for (const ScalePoint& point : points) values.insert(point.*member);
    return values;
}

double step_seconds_of(const ScalePoint& point) {
    return point.epoch_seconds * point.batch / point.train_samples;
}

// Terms of the laws that so many scales can carry.
struct Choice {
    EpochLaw::Kind epochs = EpochLaw::Kind::kConstant;
    bool with_constant = false, with_messages = false;
};

std::vector<Choice> choices_for(size_t batches, size_t scales) {
    std::vector<EpochLaw::Kind> kinds = {EpochLaw::Kind::kPower, EpochLaw::Kind::kLogarithmic};
    if (batches < 2) kinds = {EpochLaw::Kind::kConstant};
    std::vector<Choice> choices;
    for (EpochLaw::Kind kind : kinds) {
        if (scales < 2) choices.push_back({kind, false, false});
        if (scales >= 2) choices.push_back({kind, true, false});
        if (scales >= 3) choices.push_back({kind, true, true});
        if (scales >= 3) choices.push_back({kind, false, true});
    }
    return choices;
}

struct Laws {
    EpochLaw epochs;
    StepLaw steps;
    std::optional<StagingLaw> staging;
    double other = 0;
};

std::optional<Laws> fit_laws(std::span<const ScalePoint> of_benchmark, std::span<const ScalePoint> of_family,
                             const Choice& choice) {
    const bool one_batch = distinct(of_benchmark, &ScalePoint::batch).size() < 2;
    const auto epochs = fit_epochs(of_benchmark, one_batch ? EpochLaw::Kind::kConstant : choice.epochs);
    const size_t scales = distinct(of_family, &ScalePoint::units).size();
    const auto steps = fit_steps(
        of_family, choice.with_constant && of_family.size() >= 2,
        choice.with_messages && scales >= 2 && of_family.size() >= (choice.with_constant ? 3U : 2U));
    if (!epochs || !steps) return std::nullopt;
    double other = 0;
    for (const ScalePoint& point : of_family) other += point.other / static_cast<double>(of_family.size());
    return Laws{*epochs, *steps, fit_staging(of_family), other};
}

double seconds_of(const Laws& laws, double units, double batch, double train_samples) {
    return (laws.staging ? laws.staging->seconds(units) : 0) + laws.other +
           laws.epochs.epochs(batch) * train_samples / batch * laws.steps.seconds(units, batch);
}

double mean_error_of(std::span<const HeldOut> held_out) {
    double sum = 0;
    for (const HeldOut& one : held_out) sum += std::abs(one.error());
    return held_out.empty() ? 0 : sum / static_cast<double>(held_out.size());
}

using Chooser =
    std::function<std::optional<Choice>(std::span<const ScalePoint> all, std::span<const ScalePoint> family)>;

// Each scale of the family, predicted by laws that were chosen and fitted without it.
std::vector<HeldOut> hold_out(std::span<const ScalePoint> all, std::span<const ScalePoint> family,
                              const Chooser& choose) {
    std::vector<HeldOut> result;
    for (double units : distinct(family, &ScalePoint::units)) {
        auto is_out = [&](const ScalePoint& point) {
            return point.family == family.front().family && point.units == units;
        };
        std::vector<ScalePoint> rest_of_benchmark;
        std::vector<ScalePoint> rest_of_family;
        std::ranges::copy_if(all, std::back_inserter(rest_of_benchmark), std::not_fn(is_out));
        std::ranges::copy_if(family, std::back_inserter(rest_of_family), std::not_fn(is_out));
        if (rest_of_family.empty()) continue;
        const auto choice = choose(rest_of_benchmark, rest_of_family);
        const auto laws = choice ? fit_laws(rest_of_benchmark, rest_of_family, *choice) : std::nullopt;
        if (!laws) continue;
        for (const ScalePoint& point : family)
            if (point.units == units)
                result.push_back({point.label, point.units, point.batch, point.seconds,
                                  seconds_of(*laws, point.units, point.batch, point.train_samples)});
    }
    return result;
}

// The laws that predict held-out scales best; of equals the first.
std::optional<Choice> choose_laws(std::span<const ScalePoint> all, std::span<const ScalePoint> family) {
    std::optional<Choice> best;
    double least = 0;
    for (const Choice& choice :
         choices_for(distinct(all, &ScalePoint::batch).size(), distinct(family, &ScalePoint::units).size())) {
        if (!fit_laws(all, family, choice)) continue;
        const double error =
            mean_error_of(hold_out(all, family, [&](auto, auto) { return std::optional(choice); }));
        constexpr double kRounding = 1e-9;
        if (best && !(error < least - kRounding)) continue;
        best = choice;
        least = error;
    }
    return best;
}

void say_what_it_rests_on(FamilyModel& model, size_t scales, size_t batches) {
    if (scales == 1)
        model.notes.emplace_back(
            "one scale: the time of a step is taken as proportional to the batch of a unit, and no error is "
            "known");
    else if (scales == 2)
        model.notes.emplace_back("two scales: each was predicted from the other alone");
    if (batches == 1)
        model.notes.emplace_back("one batch size: the epochs are taken as those of it at every other");
    if (distinct(model.points, &ScalePoint::train_samples).size() > 1)
        model.notes.emplace_back("the scales were trained with different numbers of samples");
}

std::optional<FamilyModel> fit_family(std::span<const ScalePoint> of_benchmark,
                                      std::vector<ScalePoint> family) {
    const auto choice = choose_laws(of_benchmark, family);
    const auto laws = choice ? fit_laws(of_benchmark, family, *choice) : std::nullopt;
    if (!laws) return std::nullopt;
    const auto batches = distinct(of_benchmark, &ScalePoint::batch);
    const auto scales = distinct(family, &ScalePoint::units);
    FamilyModel model{.benchmark = family.front().benchmark,
                      .family = family.front().family,
                      .points = std::move(family),
                      .epochs = laws->epochs,
                      .steps = laws->steps,
                      .staging = laws->staging,
                      .other = laws->other,
                      .held_out = {},
                      .mean_error = {},
                      .worst_error = {},
                      .notes = {}};
    model.train_samples = model.points.back().train_samples;
    model.least_batch = *batches.begin();
    model.most_batch = *batches.rbegin();
    model.least_units = *scales.begin();
    model.most_units = *scales.rbegin();
    model.held_out = hold_out(of_benchmark, model.points, choose_laws);
    if (!model.held_out.empty()) {
        model.mean_error = mean_error_of(model.held_out);
        double worst = 0;
        for (const HeldOut& one : model.held_out) worst = std::max(worst, std::abs(one.error()));
        model.worst_error = worst;
    }
    say_what_it_rests_on(model, scales.size(), batches.size());
    return model;
}

}  // namespace

std::vector<ScalePoint> scale_points(std::span<const SystemResult> systems) {
    std::vector<ScalePoint> points;
    for (const SystemResult& system : systems) {
        if (system.scaling == "weak") continue;
        if (!above_zero(system.units) || !above_zero(system.batch) || !above_zero(system.epochs.mean) ||
            !above_zero(system.epoch_seconds.mean) || !above_zero(system.train_samples) ||
            !above_zero(system.seconds.mean))
            continue;
        ScalePoint point{
            .benchmark = system.benchmark, .family = system.family, .label = system.label(), .staging = {}};
        point.units = *system.units;
        point.batch = *system.batch;
        point.epochs = *system.epochs.mean;
        point.epoch_seconds = *system.epoch_seconds.mean;
        point.train_samples = *system.train_samples;
        point.seconds = *system.seconds.mean;
        point.other = system.other.mean.value_or(0);
        if (above_zero(system.staging.mean)) point.staging = system.staging.mean;
        points.push_back(std::move(point));
    }
    return points;
}

double EpochLaw::epochs(double batch) const {
    const double value = kind == Kind::kPower         ? a * std::pow(batch, b)
                         : kind == Kind::kLogarithmic ? a + b * std::log(batch)
                                                      : a;
    return std::isfinite(value) ? std::max(kLeastEpochs, value) : kLeastEpochs;
}

std::string EpochLaw::formula() const {
    if (kind == Kind::kPower) return fmt::format("{:.4g} · B^{:.4g}", a, b);
    if (kind == Kind::kLogarithmic)
        return fmt::format("{:.4g} {} {:.4g} · ln B", a, b < 0 ? "-" : "+", std::abs(b));
    return fmt::format("{:.4g}", a);
}

std::optional<EpochLaw> fit_epochs(std::span<const ScalePoint> points, EpochLaw::Kind kind) {
    std::vector<double> x;
    std::vector<double> y;
    for (const ScalePoint& point : points) {
        x.push_back(kind == EpochLaw::Kind::kConstant ? 0 : std::log(point.batch));
        y.push_back(kind == EpochLaw::Kind::kLogarithmic ? point.epochs : std::log(point.epochs));
    }
    const auto line = straight_line(x, y);
    if (!line) return std::nullopt;
    if (kind == EpochLaw::Kind::kLogarithmic) return EpochLaw{kind, line->a, line->b};
    return EpochLaw{kind, std::exp(line->a), line->b};
}

double StepLaw::seconds(double units, double batch) const {
    return constant + work * batch / units + messages * std::max(0.0, std::log2(units));
}

std::string StepLaw::formula() const {
    std::string text = fmt::format("{:.4g} · B/n", work);
    if (with_constant) text = fmt::format("{:.4g} + ", constant) + text;
    if (with_messages) text += fmt::format(" + {:.4g} · log2 n", messages);
    return text;
}

std::optional<StepLaw> fit_steps(std::span<const ScalePoint> points, bool with_constant, bool with_messages) {
    std::vector<std::vector<double>> terms;
    std::vector<double> y;
    for (const ScalePoint& point : points) {
        terms.push_back({point.batch / point.units});
        if (with_constant) terms.back().push_back(1);
        if (with_messages) terms.back().push_back(std::max(0.0, std::log2(point.units)));
        y.push_back(step_seconds_of(point));
    }
    const auto fitted = non_negative_fit(terms, y);
    if (!fitted) return std::nullopt;
    StepLaw law{.work = fitted->front(), .with_constant = with_constant, .with_messages = with_messages};
    if (with_constant) law.constant = (*fitted)[1];
    if (with_messages) law.messages = fitted->back();
    return law;
}

double StagingLaw::seconds(double units) const {
    return constant + shared / units;
}

std::string StagingLaw::formula() const {
    return fmt::format("{:.4g} + {:.4g} / n", constant, shared);
}

std::optional<StagingLaw> fit_staging(std::span<const ScalePoint> points) {
    std::vector<std::vector<double>> terms;
    std::vector<double> y;
    for (const ScalePoint& point : points)
        if (point.staging) {
            terms.push_back({1, 1 / point.units});
            y.push_back(*point.staging);
        }
    if (y.empty()) return std::nullopt;
    // Of one scale it is not known which part would shrink: data that each unit reads once do.
    if (y.size() == 1) return StagingLaw{0, y.front() / terms.front()[1]};
    const auto fitted = non_negative_fit(terms, y);
    if (!fitted) return std::nullopt;
    return StagingLaw{(*fitted)[0], (*fitted)[1]};
}

std::vector<FamilyModel> fit_families(std::span<const ScalePoint> points) {
    std::map<std::string, std::vector<ScalePoint>> benchmarks;
    std::map<std::pair<std::string, std::string>, std::vector<ScalePoint>> families;
    for (const ScalePoint& point : points) {
        benchmarks[point.benchmark].push_back(point);
        families[{point.benchmark, point.family}].push_back(point);
    }
    std::vector<FamilyModel> models;
    for (auto& [key, family] : families) {
        std::ranges::stable_sort(family, {}, &ScalePoint::units);
        if (auto model = fit_family(benchmarks[key.first], std::move(family)))
            models.push_back(std::move(*model));
    }
    return models;
}

std::optional<Prediction> predict(const FamilyModel& model, double units, double batch) {
    if (!above_zero(units) || !above_zero(batch)) return std::nullopt;
    Prediction result{.benchmark = model.benchmark,
                      .family = model.family,
                      .units = units,
                      .batch = batch,
                      .mean_error = {},
                      .worst_error = {},
                      .notes = {}};
    result.epochs = model.epochs.epochs(batch);
    result.step_seconds = model.steps.seconds(units, batch);
    result.epoch_seconds = model.train_samples / batch * result.step_seconds;
    result.staging = model.staging ? model.staging->seconds(units) : 0;
    result.other = model.other;
    result.seconds = result.staging + result.other + result.epochs * result.epoch_seconds;
    result.unit_hours = result.seconds * units / 3600;
    result.mean_error = model.mean_error;
    result.worst_error = model.worst_error;
    result.notes = model.notes;
    auto say_outside = [&](std::string_view what, double value, double least, double most) {
        if (value < least || value > most)
            result.notes.push_back(
                least == most ? fmt::format("{} {:g}: only {:g} was measured", what, value, least)
                              : fmt::format("{} {:g} lies outside of what was measured, {:g} to {:g}", what,
                                            value, least, most));
    };
    say_outside("units", units, model.least_units, model.most_units);
    say_outside("batch", batch, model.least_batch, model.most_batch);
    if (batch < units)
        result.notes.emplace_back("fewer samples in a batch than units: a sample would have to be split");
    return result;
}

core::Result<PredictionRequest> parse_prediction(std::string_view text) {
    PredictionRequest request;
    auto wrong = [&](std::string_view why) {
        return std::unexpected(
            core::Error(core::ErrorKind::kBadInput, fmt::format("--predict {}: {}", text, why))
                .hint("write units=N, batch=B, or both: --predict units=1024,batch=2048"));
    };
    for (std::string_view part : core::split(text, ',')) {
        const size_t equals = part.find('=');
        const std::string_view name = core::trim(part.substr(0, equals));
        if (equals == part.npos) return wrong(fmt::format("\"{}\" has no value", name));
        std::optional<double>* to = name == "units"   ? &request.units
                                    : name == "batch" ? &request.batch
                                                      : nullptr;
        if (!to) return wrong(fmt::format("\"{}\" cannot be chosen", name));
        const auto value = core::parse_number<double>(core::trim(part.substr(equals + 1)));
        if (!above_zero(value)) return wrong(fmt::format("{} must be a number above 0", name));
        *to = *value;
    }
    return request;
}

}  // namespace belay::bench
