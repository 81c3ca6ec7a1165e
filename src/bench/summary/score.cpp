#include "bench/summary/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr double kMinutesPerDay = 24 * 60;
constexpr size_t kMostDropped = 1;

using Minutes = std::function<std::optional<double>(const ScoredRun&)>;

// Nothing if there is none, or one of them is not known.
std::optional<double> mean_of(std::span<const ScoredRun* const> runs, const Minutes& minutes) {
    double sum = 0;
    for (const ScoredRun* run : runs) {
        const std::optional<double> each = minutes(*run);
        if (!each) return std::nullopt;
        sum += *each;
    }
    if (runs.empty()) return std::nullopt;
    return sum / static_cast<double>(runs.size());
}

std::optional<double> with_staging(const ScoredRun& run) {
    if (!run.staging) return std::nullopt;
    return run.staging_in_run ? *run.minutes : *run.minutes + *run.staging;
}

std::optional<double> without_staging(const ScoredRun& run) {
    if (!run.staging) return std::nullopt;
    return run.staging_in_run ? *run.minutes - *run.staging : *run.minutes;
}

// One that stops when another starts does not run at the same time.
size_t most_at_once(std::span<const ScoredRun* const> runs) {
    std::vector<std::pair<double, int>> changes;
    for (const ScoredRun* run : runs) {
        changes.emplace_back(*run->start, 1);
        changes.emplace_back(*run->stop, -1);
    }
    std::ranges::sort(changes);  // stops before starts of the same time
    int now = 0, most = 0;
    for (const auto& [at, change] : changes) most = std::max(most, now += change);
    return static_cast<size_t>(most);
}

}  // namespace

TimeToTrain time_to_train(std::span<const ScoredRun> runs) {
    TimeToTrain score;
    std::vector<const ScoredRun*> counted;
    for (const ScoredRun& run : runs) {
        if (run.counts())
            counted.push_back(&run);
        else
            ++score.dropped;
    }
    if (score.dropped > kMostDropped) return score;
    std::ranges::stable_sort(counted, {}, [](const ScoredRun* run) { return *run->minutes; });
    if (score.dropped == 0 && !counted.empty()) counted.pop_back();
    if (!counted.empty()) counted.erase(counted.begin());
    score.minutes = mean_of(counted, [](const ScoredRun& run) { return run.minutes; });
    score.minutes_with_staging = mean_of(counted, with_staging);
    score.minutes_without_staging = mean_of(counted, without_staging);
    return score;
}

std::optional<double> Throughput::models_per_day() const {
    if (!minutes || !(*minutes > 0)) return std::nullopt;
    return static_cast<double>(models) / *minutes * kMinutesPerDay;
}

Throughput throughput(std::span<const ScoredRun> runs, size_t required) {
    Throughput score;
    std::optional<double> first, last;
    std::vector<const ScoredRun*> counted;
    for (const ScoredRun& run : runs) {
        if (!run.counts() || !run.start || !run.stop) continue;
        counted.push_back(&run);
        first = std::min(first.value_or(*run.start), *run.start);
        last = std::max(last.value_or(*run.stop), *run.stop);
        if (!run.accelerators) continue;
        if (!score.accelerators_per_model)
            score.accelerators_per_model = run.accelerators;
        else if (*score.accelerators_per_model != *run.accelerators)
            score.scales_differ = true;
    }
    score.models = counted.size();
    score.most_at_once = most_at_once(counted);
    if (first && score.models >= required) score.minutes = *last - *first;
    return score;
}

std::string scale_problem(double per_model, double accelerators, size_t started, size_t most_at_once) {
    if (per_model > accelerators)
        return fmt::format("an instance states {:g} accelerators, more than the {:g} of the system",
                           per_model, accelerators);
    const double all = per_model * static_cast<double>(started);
    if (accelerators > all)
        return fmt::format("the system has {:g} accelerators, more than the {:g} of all {} instances",
                           accelerators, all, started);
    if (per_model * static_cast<double>(most_at_once) > accelerators)
        return fmt::format(
            "{} instances ran at once, and each states {:g} of the {:g} accelerators of the system",
            most_at_once, per_model, accelerators);
    return {};
}

std::optional<Extrapolation> extrapolated(double minutes_per_model, double per_model, double accelerators) {
    if (!(minutes_per_model > 0) || !(per_model > 0)) return std::nullopt;
    const double models = std::floor(accelerators / per_model);
    if (!(models >= 1) || !std::isfinite(models)) return std::nullopt;
    return Extrapolation{accelerators, models, models * kMinutesPerDay / minutes_per_model};
}

}  // namespace belay::bench
