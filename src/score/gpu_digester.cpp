#include "score/gpu_digester.h"

#include <algorithm>

namespace belay::score {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kLongestSample = 1.5;  // in intervals, as WindowBuilder has it
// The bits of NVML's clock event reasons (nvml.h, nvmlClocksEventReason*).
constexpr int64_t kPowerCap = 0x4;
constexpr int64_t kThermal = 0x20 | 0x40;
constexpr int64_t kSlowdown = 0x8 | 0x80;

constexpr size_t at(Quantity quantity) {
    return static_cast<size_t>(quantity);
}
// Quantities up to here come from windows, the others from samples as they are.
constexpr size_t kFirstSampled = at(Quantity::kEngine);

float has_any(double reasons, int64_t bits) {
    if (std::isnan(reasons)) return static_cast<float>(kMissing);
    return (static_cast<int64_t>(reasons) & bits) != 0 ? 1.0F : 0.0F;
}

}  // namespace

Frame make_frame(core::Time start, core::Time end, core::Duration interval) {
    Frame frame{.start = start, .interval = interval, .bucket = std::max(kWindow, interval), .buckets = 1};
    if (end <= start) return frame;
    const core::Duration least = frame.bucket;
    const auto most = static_cast<int64_t>(kMostBuckets);
    const int64_t windows = (end - start + least - core::Duration(1)) / least;
    const int64_t windows_each = (windows + most - 1) / most;
    frame.bucket = least * std::max<int64_t>(1, windows_each);
    frame.buckets = static_cast<size_t>((end - start + frame.bucket - core::Duration(1)) / frame.bucket);
    return frame;
}

size_t seconds_of(const Frame& frame) {
    const auto seconds =
        static_cast<size_t>(frame.bucket * static_cast<int64_t>(frame.buckets) / std::chrono::seconds(1));
    return seconds <= kMostSeconds ? seconds : 0;
}

void JobSums::merge(const JobSums& other) {
    seconds.resize(std::max(seconds.size(), other.seconds.size()));
    for (size_t i = 0; i < other.seconds.size(); ++i)
        for (size_t column = 0; column < kColumns; ++column) {
            seconds[i].sums[column] += other.seconds[i].sums[column];
            seconds[i].weights[column] += other.seconds[i].weights[column];
        }
}

std::vector<JobWindow> add_up(const JobSums& sums, double allocated_weight) {
    std::vector<JobWindow> job;
    job.reserve(sums.seconds.size());
    for (const JobSums::Second& second : sums.seconds) {
        auto mean = [&](size_t column) { return second.sums[column] / second.weights[column]; };  // 0/0: NaN
        auto total = [&](size_t column) {
            return second.weights[column] > 0 ? second.sums[column] : static_cast<float>(kMissing);
        };
        const double observed = allocated_weight > 0 ? second.weights[0] / allocated_weight : 0;
        job.push_back({.observed = static_cast<float>(std::min(1.0, observed)),
                       .saturated = mean(0),
                       .engine = mean(1),
                       .sm = mean(2),
                       .tensor = mean(3),
                       .dram = mean(4),
                       .power_watts = total(5),
                       .link_bytes_per_second = total(6)});
    }
    return job;
}

Held united(Held intervals) {
    std::ranges::sort(intervals);
    Held apart;
    for (const auto& [start, end] : intervals) {
        if (end <= start) continue;
        if (!apart.empty() && start <= apart.back().second)
            apart.back().second = std::max(apart.back().second, end);
        else
            apart.emplace_back(start, end);
    }
    return apart;
}

GpuDigester::GpuDigester(GpuDigest& gpu, JobSums& job, const Frame& frame, Held held, Detail detail)
    : gpu_(gpu),
      job_(job),
      frame_(frame),
      held_(united(std::move(held))),
      builder_(frame.interval),
      flop_use_(gpu.ceilings.highest_clock() > 0 ? gpu.ceilings.highest_clock() : kMissing),
      windows_{.first = 0, .last = kFirstSampled, .sums = {}},
      samples_{.first = kFirstSampled,
               .last = detail == Detail::kFull ? kQuantities : at(Quantity::kSm) + 1,
               .sums = {}} {
    for (std::vector<float>& series : gpu_.series)
        series.assign(frame.buckets, std::numeric_limits<float>::quiet_NaN());
    gpu_.energy_joules = kMissing;
    gpu_.memory_peak_bytes = kMissing;
    gpu_.memory_total_bytes = kMissing;
    gpu_.means.fill(kMissing);
    for (const auto& [start, end] : held_) gpu_.totals.allocate(gpu_.weight, core::to_seconds(end - start));
}

// A sample tells of the time before it: one just after the end still is the job's.
bool GpuDigester::is_held(core::Time time) const {
    return std::ranges::any_of(held_, [&](const auto& interval) {
        return time > interval.first && time <= interval.second + frame_.interval / 2;
    });
}

bool GpuDigester::add(core::Time time, const GpuSample& sample) {
    if (last_ && time <= *last_) return time == *last_;
    core::Duration length = frame_.interval;
    if (last_ && core::to_seconds(time - *last_) < kLongestSample * core::to_seconds(frame_.interval))
        length = time - *last_;
    last_ = time;
    if (!is_held(time)) {
        if (!std::isnan(sample.energy_joules_total)) last_energy_ = sample.energy_joules_total;
        return true;
    }
    // A window that ends before this sample was gathered from those before.
    for (const Window& window : builder_.add(time, sample.activity))
        add_window(window, window.end < time ? previous_ : sample);
    if (frame_.interval < kWindow) previous_ = sample;
    add_sample(time, core::to_seconds(length), sample);
    return true;
}

void GpuDigester::finish() {
    for (const Window& window : builder_.finish()) add_window(window, previous_);
    complete(windows_);
    complete(samples_);
    gpu_.flop_use = flop_use_.mean();
    gpu_.pipes_mean = pipes_seconds_ > 0 ? pipes_ / pipes_seconds_ : kMissing;
    for (size_t i = 0; i < kQuantities; ++i)
        if (seconds_[i] > 0) gpu_.means[i] = sums_[i] / seconds_[i];
}

void GpuDigester::add_window(const Window& window, const GpuSample& sample) {
    const double seconds = core::to_seconds(window.length);
    std::optional<WindowScore> score =
        score_window(window.activity, gpu_.ceilings.ceilings, window.averaging);
    // Without counters of the pipes it is still known that nothing runs where no process or no kernel is.
    if (!score && (sample.processes == 0 || sample.utilization == 0)) {
        score.emplace();
        score->shares.idle = 1;
        score->used.fill(kMissing);
        gpu_.uncounted_seconds += seconds;
    }
    if (!score) return;
    if (std::isnan(window.activity.engine) || std::isnan(window.activity.sm))
        gpu_.gap_unknown_seconds += seconds;
    gpu_.totals.add(gpu_.weight, seconds, *score);
    const double saturated = score->shares.saturated;
    const auto bin = static_cast<size_t>(saturated * kHistogramBins);
    gpu_.histogram[std::min(bin, kHistogramBins - 1)] += seconds;
    flop_use_.add(seconds, window.activity.active[static_cast<size_t>(Limit::kTensor)],
                  window.activity.clock_hertz);
    if (score->clock_unknown) gpu_.clock_unknown_seconds += seconds;
    if (score->integer_unknown) gpu_.integer_unknown_seconds += seconds;
    const auto& active = window.activity.active;
    const double pipes = active[0] + active[1] + active[2] + active[3];
    if (!std::isnan(pipes)) {
        pipes_ += pipes * seconds;
        pipes_seconds_ += seconds;
    }
    double link_use = 0;
    for (size_t i = 0; i < kLinks; ++i)
        if (gpu_.ceilings.links[i] > 0 && sample.links[i] > link_use * gpu_.ceilings.links[i])
            link_use = sample.links[i] / gpu_.ceilings.links[i];
    if (is_link_bound(saturated, link_use)) gpu_.link_bound_seconds += seconds;
    std::array<float, kWide> values;
    values[at(Quantity::kIdle)] = static_cast<float>(score->shares.idle);
    values[at(Quantity::kGap)] = static_cast<float>(score->shares.gap);
    values[at(Quantity::kUnsaturated)] = static_cast<float>(score->shares.unsaturated);
    values[at(Quantity::kSaturated)] = static_cast<float>(saturated);
    for (size_t i = 0; i < kLimits; ++i)
        values[at(Quantity::kUsedTensor) + i] = static_cast<float>(score->used[i]);
    gather(windows_, window.end, static_cast<float>(seconds), values);
    add_to_job(window, sample, *score);
}

// In each second that the window touches, for the part of it.
void GpuDigester::add_to_job(const Window& window, const GpuSample& sample, const WindowScore& score) {
    double links = 0;
    for (double link : sample.links) links += std::isnan(link) ? 0 : link;
    const std::array<float, JobSums::kColumns> values = {
        static_cast<float>(score.shares.saturated),
        static_cast<float>(window.activity.engine),
        static_cast<float>(window.activity.sm),
        static_cast<float>(window.activity.active[static_cast<size_t>(Limit::kTensor)]),
        static_cast<float>(window.activity.active[static_cast<size_t>(Limit::kDram)]),
        static_cast<float>(sample.power_watts),
        static_cast<float>(links),
        0};
    const core::Duration second = std::chrono::seconds(1);
    core::Duration from = std::max(core::Duration::zero(), window.end - window.length - frame_.start);
    const core::Duration to = window.end - frame_.start;
    while (from < to) {
        const auto index = static_cast<size_t>(from / second);
        const core::Duration next = std::min(to, second * (static_cast<int64_t>(index) + 1));
        if (index >= job_.seconds.size()) return;
        const double part = core::to_seconds(next - from);
        const auto weighted = static_cast<float>(gpu_.weight * part);
        JobSums::Second& sums = job_.seconds[index];
        for (size_t column = 0; column < JobSums::kColumns; ++column) {
            const float share = column < JobSums::kMeans ? weighted : static_cast<float>(part);
            const bool known = values[column] == values[column];
            sums.sums[column] += known ? share * values[column] : 0;
            sums.weights[column] += known ? share : 0;
        }
        from = next;
    }
}

void GpuDigester::add_sample(core::Time time, double seconds, const GpuSample& sample) {
    if (sample.energy_joules_total >= last_energy_) {  // a counter that went back was reset
        if (std::isnan(gpu_.energy_joules)) gpu_.energy_joules = 0;
        gpu_.energy_joules += sample.energy_joules_total - last_energy_;
    }
    if (!std::isnan(sample.energy_joules_total)) last_energy_ = sample.energy_joules_total;
    if (!(gpu_.memory_peak_bytes >= sample.memory_used_bytes))
        gpu_.memory_peak_bytes = sample.memory_used_bytes;
    if (!std::isnan(sample.memory_total_bytes)) gpu_.memory_total_bytes = sample.memory_total_bytes;
    std::array<float, kWide> values;
    auto set = [&](Quantity quantity, double value) { values[at(quantity)] = static_cast<float>(value); };
    set(Quantity::kEngine, sample.activity.engine);
    set(Quantity::kSm, sample.activity.sm);
    if (samples_.last == kQuantities) {
        set(Quantity::kOccupancy, sample.occupancy);
        set(Quantity::kTensor, sample.activity.active[static_cast<size_t>(Limit::kTensor)]);
        set(Quantity::kDram, sample.activity.active[static_cast<size_t>(Limit::kDram)]);
        set(Quantity::kUtilization, sample.utilization);
        set(Quantity::kClock, sample.activity.clock_hertz);
        set(Quantity::kPower, sample.power_watts);
        set(Quantity::kTemperature, sample.temperature_celsius);
        set(Quantity::kMemoryUsed, sample.memory_used_bytes);
        for (size_t i = 0; i < kLinks; ++i)
            values[at(Quantity::kPcie) + i] = static_cast<float>(sample.links[i]);
        values[at(Quantity::kPowerCapped)] = has_any(sample.clock_event_reasons, kPowerCap);
        values[at(Quantity::kThermal)] = has_any(sample.clock_event_reasons, kThermal);
        values[at(Quantity::kSlowdown)] = has_any(sample.clock_event_reasons, kSlowdown);
    }
    gather(samples_, time, static_cast<float>(seconds), values);
    if (samples_.last < kQuantities) return;
    add_highest(samples_.bucket, Quantity::kTemperature, sample.temperature_celsius);
    add_highest(samples_.bucket, Quantity::kMemoryUsed, sample.memory_used_bytes);
}

void GpuDigester::add_highest(size_t bucket, Quantity quantity, double value) {
    float& highest = gpu_.series[at(quantity)][bucket];
    if (!(highest >= value)) highest = static_cast<float>(value);
}

size_t GpuDigester::bucket_of(core::Time end) const {
    if (end <= frame_.start) return 0;
    const auto bucket = static_cast<size_t>((end - frame_.start - core::Duration(1)) / frame_.bucket);
    return std::min(bucket, frame_.buckets - 1);
}

void GpuDigester::gather(Gathering& gathering, core::Time end, float seconds,
                         const std::array<float, kWide>& values) {
    const size_t bucket = bucket_of(end);
    if (bucket != gathering.bucket) {
        complete(gathering);
        gathering.bucket = bucket;
    }
    gathering.any = true;
    Bucket& sums = gathering.sums;
    for (size_t i = gathering.first; i < gathering.last; ++i) {
        const bool known = values[i] == values[i];
        sums.sums[i] += known ? seconds * values[i] : 0;
        sums.seconds[i] += known ? seconds : 0;
    }
}

void GpuDigester::complete(Gathering& gathering) {
    if (!gathering.any) return;
    for (size_t i = gathering.first; i < gathering.last; ++i) {
        const float seconds = gathering.sums.seconds[i];
        if (seconds <= 0) continue;
        sums_[i] += gathering.sums.sums[i];
        seconds_[i] += seconds;
        if (i != at(Quantity::kTemperature) && i != at(Quantity::kMemoryUsed))
            gpu_.series[i][gathering.bucket] = gathering.sums.sums[i] / seconds;
    }
    gathering.sums = {};
    gathering.any = false;
}

}  // namespace belay::score
