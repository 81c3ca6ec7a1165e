#include "score/job_score.h"

#include "score/window_block.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace belay::score {

namespace {

constexpr double kMostOfTheTime = 0.5;

double mean_of(const GpuDigest& gpu, size_t quantity) {
    return gpu.whole[quantity];
}

// Means over devices, weighted with their observed time.
class Mean {
  public:
    void add(double value, double weight) {
        if (std::isnan(value)) return;
        sum_ += value * weight;
        weight_ += weight;
    }
    double value() const { return weight_ > 0 ? sum_ / weight_ : kMissing; }

  private:
    double sum_ = 0;
    double weight_ = 0;
};

double mean_over(const Digest& digest, size_t quantity) {
    Mean mean;
    for (const GpuDigest& gpu : digest.gpus) mean.add(mean_of(gpu, quantity), gpu.totals.observed);
    return mean.value();
}

// Of one pipe, activity over that of DRAM is arithmetic intensity over the ridge of its roofline, whatever
// the peaks; of several, that which is used most decides. A limit that was not sampled may be the highest,
// but for one whose use is known to be exceeded.
std::optional<Bound> bound_of(const Digest& digest, double link_bound_share) {
    double pipes = kMissing;
    bool all_pipes = true;
    for (Limit pipe : {Limit::kTensor, Limit::kFp64, Limit::kFp32, Limit::kFp16}) {
        const double use = mean_over(digest, used(pipe));
        all_pipes = all_pipes && !std::isnan(use);
        pipes = highest_of(pipes, use);
    }
    const double dram = mean_over(digest, used(Limit::kDram));
    if (link_bound_share >= kMostOfTheTime) return Bound::kLink;
    if (std::isnan(dram)) return std::nullopt;
    if (all_pipes && std::max(pipes, dram) < kNearNothing) return Bound::kNone;
    if (pipes >= dram && pipes >= kNearNothing) return Bound::kCompute;
    return all_pipes ? std::optional(Bound::kMemory) : std::nullopt;
}

void add_energy(const Digest& digest, JobScore& job) {
    double joules = 0;
    double saturated_seconds = 0;  // of the devices with a counter
    size_t unknown = 0;
    for (const GpuDigest& gpu : digest.gpus) {
        if (std::isnan(gpu.energy_joules)) {
            ++unknown;
            continue;
        }
        joules += gpu.energy_joules;
        saturated_seconds += gpu.totals.shares.saturated;
    }
    job.energy_wh = unknown == 0 ? watt_hours(joules * 1000) : kMissing;
    if (unknown > 0 && unknown < digest.gpus.size())
        job.notes.push_back(
            fmt::format("of {} of the {} GPUs no energy was sampled: that of the job is not known", unknown,
                        digest.gpus.size()));
    job.saturated_hours_per_kwh = saturated_hours_per_kilowatt_hour(saturated_seconds, joules);
}

Score score_of_part(const Totals& totals, double uncounted) {
    constexpr double kAll = 0.999;
    Score score = score_of(totals);
    if (uncounted > 0 && uncounted >= kAll * totals.observed && score.coverage < kAll) score.point = kMissing;
    return score;
}

void add_parts(const Digest& digest, JobScore& job) {
    std::map<std::string, std::pair<Totals, double>> nodes;
    for (const GpuDigest& gpu : digest.gpus) {
        const std::string slice = gpu.mig_profile.empty() ? "" : " " + gpu.mig_profile;
        job.gpus.push_back({gpu.node, gpu.device, gpu.name + slice, gpu.index, score_of_device(gpu)});
        auto& [totals, uncounted] = nodes[gpu.node];
        totals.merge(gpu.totals);
        uncounted += gpu.uncounted_seconds * gpu.weight;
    }
    for (const auto& [node, sums] : nodes)
        job.nodes.push_back({.node = node,
                             .device = {},
                             .name = {},
                             .index = 0,
                             .score = score_of_part(sums.first, sums.second)});
}

void add_ceilings(const Digest& digest, JobScore& job) {
    std::set<std::string> uncalibrated;
    std::set<std::string> unknown;
    std::string latest;
    for (const GpuDigest& gpu : digest.gpus) {
        latest = std::max(latest, gpu.ceilings.date);
        if (gpu.ceilings.match.empty())
            unknown.insert(gpu.name.empty() ? "GPUs whose model is not known" : gpu.name);
        else if (!gpu.ceilings.calibrated)
            uncalibrated.insert(gpu.name);
    }
    job.calibrated = !digest.gpus.empty() && uncalibrated.empty() && unknown.empty();
    job.ceilings_version = latest.empty() ? "none" : latest;
    for (const std::string& name : uncalibrated)
        job.notes.push_back(
            fmt::format("the ceilings of {} are not calibrated: scores are lower than they would be", name));
    for (const std::string& name : unknown)
        job.notes.push_back(
            fmt::format("there are no ceilings for {}: each limit counts as reached at an activity "
                        "of 1",
                        name));
}

void add_data_notes(const Digest& digest, JobScore& job) {
    const auto nothing_counted = [](const GpuDigest& gpu) {
        return gpu.uncounted_seconds * gpu.weight >= 0.999 * gpu.totals.observed;
    };
    if (std::ranges::all_of(digest.gpus, nothing_counted))
        job.notes.emplace_back(
            "no counters of pipes or DRAM were sampled: utilisation alone says nothing of saturation");
    if (!job.score.graded())
        job.notes.push_back(
            fmt::format("the saturation of {:.0f} % of the allocated time is known: too little for a verdict",
                        100 * job.score.coverage));
    if (digest.interval_seconds > 1.5)
        job.notes.push_back(
            fmt::format("samples are {:g} s apart: what happened between them widens the bounds",
                        digest.interval_seconds));
    auto most = [&](double GpuDigest::* seconds) {
        return std::ranges::any_of(digest.gpus, [seconds](const GpuDigest& gpu) {
            return gpu.*seconds * gpu.weight > kMostOfTheTime * gpu.totals.observed &&
                   gpu.totals.observed > 0;
        });
    };
    if (most(&GpuDigest::copy_driven_seconds))
        job.notes.emplace_back(
            "copy-driven: most of the time device memory was used by copies more than by kernels, since its "
            "use "
            "was above the activity of the multiprocessors");
    if (most(&GpuDigest::gap_unknown_seconds))
        job.notes.emplace_back(
            "engine or multiprocessors were not sampled: idle and gap cannot be told apart");
    if (most(&GpuDigest::clock_unknown_seconds))
        job.notes.emplace_back("clocks were not sampled: they count as those of the ceilings");
    if (most(&GpuDigest::integer_unknown_seconds))
        job.notes.emplace_back(
            "the integer pipe was not sampled: what counts as FP32 work may be integer work, as of a kernel "
            "that spins");
    std::ranges::copy(digest.notes, std::back_inserter(job.notes));
}

}  // namespace

Score score_of_device(const GpuDigest& gpu) {
    return score_of_part(gpu.totals, gpu.uncounted_seconds * gpu.weight);
}

std::string_view to_text(Bound bound) {
    constexpr std::string_view kNames[] = {"none", "compute", "memory", "link"};
    return kNames[static_cast<size_t>(bound)];
}

std::vector<Stretch> stretches(const Digest& digest) {
    std::vector<Stretch> job;
    for (const JobWindow& window : digest.job) job.push_back({1, window.saturated, window.observed});
    return job;
}

JobScore score_job(const Digest& digest) {
    JobScore job;
    Totals totals;
    std::vector<double> means;
    double link_bound = 0;
    double seconds = 0;
    double uncounted = 0;
    Mean flop_use;
    job.memory_peak_bytes = kMissing;
    for (const GpuDigest& gpu : digest.gpus) {
        totals.merge(gpu.totals);
        uncounted += gpu.uncounted_seconds * gpu.weight;
        if (gpu.totals.observed > 0) means.push_back(gpu.totals.shares.saturated / gpu.totals.observed);
        link_bound += gpu.link_bound_seconds * gpu.weight;
        seconds += gpu.totals.observed;
        flop_use.add(gpu.flop_use, gpu.totals.observed);
        job.memory_peak_bytes = highest_of(job.memory_peak_bytes, gpu.memory_peak_bytes());
    }
    job.score = score_of_part(totals, uncounted);
    job.allocated_seconds = totals.allocated;
    job.sampled = std::ranges::any_of(digest.gpus, [](const GpuDigest& gpu) {
        return std::ranges::any_of(gpu.whole, [](double value) { return !std::isnan(value); });
    });
    const std::vector<Stretch> over_time = stretches(digest);
    job.startup_seconds = startup_seconds(over_time);
    job.steady_state = job.startup_seconds ? steady_score(over_time, *job.startup_seconds) : kMissing;
    job.busy_engine = mean_over(digest, schema::gpu_quantity("engine_share"));
    job.busy_sm = mean_over(digest, schema::gpu_quantity("sm_share"));
    job.link_bound_share = seconds > 0 ? link_bound / seconds : kMissing;
    job.bound = bound_of(digest, job.link_bound_share);
    job.imbalance = imbalance(means);
    job.burstiness = burstiness(over_time);
    job.flop_use = flop_use.value();
    add_energy(digest, job);
    add_parts(digest, job);
    add_ceilings(digest, job);
    add_data_notes(digest, job);
    return job;
}

}  // namespace belay::score
