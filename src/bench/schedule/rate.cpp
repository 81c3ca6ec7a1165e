#include "bench/schedule/rate.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace belay::bench {

namespace {

constexpr std::array<std::string_view, 3> kScalingNames = {"linear", "sqrt",
                                                           "none"};  // in the order of Scaling

int64_t step_of_share(double share, int64_t total_steps) {
    return std::llround(share * static_cast<double>(total_steps));
}

// How many boundaries lie behind the step.
size_t boundaries_passed(const RateSchedule& rate, const StepPlace& place) {
    auto below = [](const auto& boundaries, auto reached) {
        return static_cast<size_t>(
            std::ranges::count_if(boundaries, [&](auto boundary) { return reached > boundary; }));
    };
    const int64_t origin = rate.decays_behind_warmup ? rate.steps_of_warmup(place.epoch_steps) + 1 : 0;
    if (!rate.decay_steps.empty()) return below(rate.decay_steps, place.step - origin);
    if (rate.decay_shares.empty()) return below(rate.decay_epochs, place.epoch);
    return static_cast<size_t>(std::ranges::count_if(rate.decay_shares, [&](double share) {
        return place.step > step_of_share(share, place.total_steps);
    }));
}

}  // namespace

core::Result<Scaling> scaling_named(std::string_view name) {
    const auto* found = std::ranges::find(kScalingNames, name);
    if (found == kScalingNames.end())
        return core::bad_input("--scaling: \"{}\" is neither linear, sqrt nor none", name);
    return static_cast<Scaling>(found - kScalingNames.begin());
}

double RateSchedule::peak(int batch) const {
    if (reference_batch <= 0 || scaling == Scaling::kNone) return base_rate;
    if (scaling == Scaling::kLinear) return base_rate * batch / reference_batch;
    return base_rate * std::sqrt(static_cast<double>(batch) / reference_batch);
}

double RateSchedule::first(int batch) const {
    return warmup_factor > 0 ? warmup_factor * peak(batch) : std::min(warmup_rate, peak(batch));
}

double RateSchedule::at(int batch, const StepPlace& place) const {
    const double highest = peak(batch), lowest = first(batch);
    if (place.epoch <= warmup_epochs) return lowest + (place.epoch - 1) * (highest - lowest) / warmup_epochs;
    if (place.step <= warmup_steps)
        return lowest +
               static_cast<double>(place.step - 1) * (highest - lowest) / static_cast<double>(warmup_steps);
    if (course == Course::kCosine) {
        const int64_t warmup = steps_of_warmup(place.epoch_steps);
        const auto behind = static_cast<double>(place.step - 1 - warmup);
        const auto all = static_cast<double>(std::max<int64_t>(1, place.total_steps - warmup));
        const double way = std::clamp(behind / all, 0.0, 1.0);
        return final_rate + (highest - final_rate) * (1 + std::cos(std::numbers::pi * way)) / 2;
    }
    const size_t passed = std::min(boundaries_passed(*this, place), decay_factors.size());
    return passed == 0 ? highest : highest * decay_factors[passed - 1];
}

int64_t RateSchedule::steps_of_warmup(int64_t steps_per_epoch) const {
    return warmup_steps > 0 ? warmup_steps : warmup_epochs * steps_per_epoch;
}

std::vector<int64_t> RateSchedule::boundary_steps(int64_t steps_per_epoch, int64_t total_steps) const {
    std::vector<int64_t> steps(decay_steps.begin(), decay_steps.end());
    if (!steps.empty()) return steps;
    for (double share : decay_shares) steps.push_back(step_of_share(share, total_steps));
    if (!steps.empty()) return steps;
    for (int epoch : decay_epochs) steps.push_back(epoch * steps_per_epoch);
    return steps;
}

core::Result<> set_warmup(std::string_view text, RateSchedule& rate) {
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = core::parse_number<int>(text.substr(0, end));
    const std::string_view unit = core::trim(text.substr(end));
    const bool in_steps = unit == "steps" || unit == "step";
    if (!number || !(in_steps || unit.empty() || unit == "epochs" || unit == "epoch"))
        return core::bad_input("--warmup: \"{}\" is not a number of epochs or steps", text)
            .hint("write 3epochs, or 400steps");
    rate.warmup_epochs = in_steps ? 0 : *number;
    rate.warmup_steps = in_steps ? *number : 0;
    return {};
}

}  // namespace belay::bench
