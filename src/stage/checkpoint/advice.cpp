#include "stage/checkpoint/advice.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::stage {

namespace {

double young(const CheckpointCost& cost) {
    return std::sqrt(2 * cost.write_seconds * cost.mtbf_seconds);
}

double with_restart(const CheckpointCost& cost) {
    return std::sqrt(2 * cost.write_seconds * (cost.mtbf_seconds + cost.restart_seconds));
}

double daly(const CheckpointCost& cost) {
    const double c = cost.write_seconds;
    const double m = cost.mtbf_seconds;
    if (c >= 2 * m) return m;  // where the series does not hold
    return std::sqrt(2 * c * m) * (1 + std::sqrt(c / (2 * m)) / 3 + c / (18 * m)) - c;
}

double availability(const CheckpointCost& cost) {
    const double c = cost.write_seconds;
    return c + std::sqrt(2 * (cost.mtbf_seconds + cost.restart_seconds) * c + c * c);
}

constexpr std::array<CheckpointModel, 4> kModels = {{
    {"young", "sqrt(2 C M)", young},
    {"restart", "sqrt(2 C (M + R))", with_restart},
    {"daly", "sqrt(2 C M) (1 + sqrt(C / 2 M) / 3 + C / 18 M) - C", daly},
    {"availability", "C + sqrt(2 C (M + R) + C^2)", availability},
}};

core::Result<> check(std::string_view what, double value, bool may_be_zero) {
    constexpr double kMostSeconds = 1e9;  // 30 years
    if ((value > 0 || (may_be_zero && value == 0)) && value <= kMostSeconds) return {};
    return core::bad_input("{} {:g}: must be {} and at most {:g} seconds", what, value,
                           may_be_zero ? "0 or more" : "more than 0", kMostSeconds);
}

}  // namespace

std::span<const CheckpointModel> checkpoint_models() {
    return kModels;
}

double lost_share(const CheckpointCost& cost, double interval) {
    return std::min(
        1.0, cost.write_seconds / interval + (interval / 2 + cost.restart_seconds) / cost.mtbf_seconds);
}

core::Result<CheckpointAdvice> advise(const CheckpointCost& cost, std::string_view name) {
    BELAY_CHECK(check("--write-seconds", cost.write_seconds, false));
    BELAY_CHECK(check("--mtbf-seconds", cost.mtbf_seconds, false));
    BELAY_CHECK(check("--restart-seconds", cost.restart_seconds, true));
    if (cost.step_seconds) BELAY_CHECK(check("--step-seconds", *cost.step_seconds, false));
    const auto model = std::ranges::find(kModels, name, &CheckpointModel::name);
    if (model == kModels.end())
        return core::bad_input("\"{}\" is not a model of checkpoint intervals", name)
            .hint("models: young, restart, daly, availability");
    CheckpointAdvice advice{
        .model = model->name == kUsualModel && cost.restart_seconds == 0 ? kModels[0].name : model->name,
        .interval_seconds = model->interval(cost)};
    const double least = kLeastIntervalInWrites * cost.write_seconds;
    advice.model_seconds = advice.interval_seconds;
    advice.at_floor = advice.interval_seconds < least;
    advice.interval_seconds = std::max(advice.interval_seconds, least);
    advice.lost_share = lost_share(cost, advice.interval_seconds);
    if (cost.step_seconds) {
        const double steps = advice.interval_seconds / *cost.step_seconds;
        // Within the interval; but not below the least one.
        advice.interval_steps =
            std::max<int64_t>(1, std::llround(advice.at_floor ? std::ceil(steps) : std::floor(steps)));
    }
    return advice;
}

double mtbf_of(int64_t devices, double failures, double device_hours) {
    return 3600 * device_hours / failures / static_cast<double>(std::max<int64_t>(devices, 1));
}

}  // namespace belay::stage
