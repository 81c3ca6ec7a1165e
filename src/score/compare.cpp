#include "score/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::score {

namespace {

constexpr size_t kLeastBlockSeconds = 10;
constexpr size_t kMostBlocks = 20;

struct Sample {
    double mean = kMissing;
    double variance_of_mean = kMissing;
    size_t blocks = 0;
};

// Means of blocks of equal length, as of values of their own.
Sample sample_of(const std::vector<double>& values) {
    const size_t blocks = std::min(kMostBlocks, values.size() / kLeastBlockSeconds);
    if (values.empty()) return {};
    double sum = 0;
    for (double value : values) sum += value;
    Sample sample{.mean = sum / static_cast<double>(values.size()), .blocks = blocks};
    if (blocks < 2) return sample;
    double squares = 0;
    for (size_t block = 0; block < blocks; ++block) {
        const size_t from = block * values.size() / blocks;
        const size_t to = (block + 1) * values.size() / blocks;
        double part = 0;
        for (size_t i = from; i < to; ++i) part += values[i];
        squares += std::pow(part / static_cast<double>(to - from) - sample.mean, 2);
    }
    const auto count = static_cast<double>(blocks);
    sample.variance_of_mean = squares / (count - 1) / count;
    return sample;
}

// Student's 97.5 % quantile, between the entries of the usual table linear in 1/degrees.
double student(double degrees) {
    constexpr std::array<std::pair<double, double>, 10> kTable = {{{1, 12.706},
                                                                   {2, 4.303},
                                                                   {3, 3.182},
                                                                   {4, 2.776},
                                                                   {5, 2.571},
                                                                   {7, 2.365},
                                                                   {10, 2.228},
                                                                   {20, 2.086},
                                                                   {40, 2.021},
                                                                   {1e9, 1.960}}};
    if (degrees <= 1) return kTable.front().second;
    for (size_t i = 1; i < kTable.size(); ++i) {
        auto [high, at_high] = kTable[i];
        if (degrees > high) continue;
        auto [low, at_low] = kTable[i - 1];
        const double part = (1 / degrees - 1 / high) / (1 / low - 1 / high);
        return at_high + part * (at_low - at_high);
    }
    return kTable.back().second;
}

Change change_of(std::string name, const Sample& before, const Sample& after) {
    Change change{.name = std::move(name),
                  .before = before.mean,
                  .after = after.mean,
                  .low = kMissing,
                  .high = kMissing};
    if (before.blocks < 2 || after.blocks < 2) return change;
    const double variance = before.variance_of_mean + after.variance_of_mean;
    const double difference = after.mean - before.mean;
    double margin = 0;
    if (variance > 0) {  // degrees of freedom after Welch and Satterthwaite
        auto part = [](const Sample& sample) {
            return std::pow(sample.variance_of_mean, 2) / static_cast<double>(sample.blocks - 1);
        };
        margin = student(variance * variance / (part(before) + part(after))) * std::sqrt(variance);
    }
    change.low = difference - margin;
    change.high = difference + margin;
    change.significant = change.low > 0 || change.high < 0;
    return change;
}

// What is followed second by second.
struct Followed {
    std::string_view name;
    float JobWindow::* value;
    double factor;
    bool is_sum = false;  // over the devices that were observed
};
constexpr Followed kFollowed[] = {
    {"steady_state", &JobWindow::saturated, 100},
    {"engine_share", &JobWindow::engine, 1},
    {"sm_share", &JobWindow::sm, 1},
    {"tensor_share", &JobWindow::tensor, 1},
    {"dram_share", &JobWindow::dram, 1},
    {"power_watts", &JobWindow::power_watts, 1, true},
    {"link_bytes_per_second", &JobWindow::link_bytes_per_second, 1, true},
};

std::vector<double> steady_values(const Digest& digest, const Followed& followed) {
    auto skip = static_cast<size_t>(startup_seconds(stretches(digest)).value_or(0));
    std::vector<double> values;
    for (const JobWindow& window : digest.job) {
        if (skip > 0) {
            --skip;
            continue;
        }
        // What was not observed counts as what was.
        const double share = followed.is_sum && window.observed > 0 ? window.observed : 1;
        const double value = window.*followed.value / share;
        if (!std::isnan(value)) values.push_back(followed.factor * value);
    }
    return values;
}

// What the whole job has once.
struct Whole {
    std::string_view name;
    double (*value)(const JobScore& job);
};
constexpr Whole kWholes[] = {
    {"score", [](const JobScore& job) { return job.score.point; }},
    {"idle_share", [](const JobScore& job) { return job.score.shares.idle; }},
    {"gap_share", [](const JobScore& job) { return job.score.shares.gap; }},
    {"unsaturated_share", [](const JobScore& job) { return job.score.shares.unsaturated; }},
    {"saturated_share", [](const JobScore& job) { return job.score.shares.saturated; }},
    {"coverage", [](const JobScore& job) { return job.score.coverage; }},
    {"startup_seconds", [](const JobScore& job) { return job.startup_seconds.value_or(kMissing); }},
    {"imbalance", [](const JobScore& job) { return job.imbalance; }},
    {"burstiness", [](const JobScore& job) { return job.burstiness.variation; }},
    {"energy_wh", [](const JobScore& job) { return job.energy_wh; }},
    {"score_per_kwh", [](const JobScore& job) { return job.saturated_hours_per_kwh; }},
};

}  // namespace

std::vector<Change> compare(const Digest& before, const Digest& after) {
    std::vector<Change> changes;
    const JobScore job_before = score_job(before);
    const JobScore job_after = score_job(after);
    for (const Whole& whole : kWholes)
        changes.push_back({.name = std::string(whole.name),
                           .before = whole.value(job_before),
                           .after = whole.value(job_after),
                           .low = kMissing,
                           .high = kMissing});
    for (const Followed& followed : kFollowed)
        changes.push_back(change_of(std::string(followed.name), sample_of(steady_values(before, followed)),
                                    sample_of(steady_values(after, followed))));
    std::erase_if(changes,
                  [](const Change& change) { return std::isnan(change.before) && std::isnan(change.after); });
    return changes;
}

}  // namespace belay::score
