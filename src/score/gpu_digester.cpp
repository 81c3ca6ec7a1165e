#include "score/gpu_digester.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace belay::score {

namespace {

constexpr size_t kEnergy = schema::gpu_field("energy_joules_total");
constexpr size_t kMemoryTotal = schema::gpu_field("memory_total_bytes");
constexpr size_t kPower = schema::gpu_field("power_watts");
constexpr size_t kProcesses = schema::gpu_field("processes");
constexpr size_t kUtilization = schema::gpu_field("utilization_ratio");

template <typename Enum>
constexpr size_t at(Enum place) {
    return static_cast<size_t>(place);
}
// Quantities up to here come from windows, the others from samples as they are.
constexpr size_t kFirstSampled = schema::kGpuModelCount;
// Of those, the score needs these.
constexpr size_t kScoreEnd = kFirstSampled + 2;
static_assert(schema::gpu_quantity("engine_share") < kScoreEnd &&
              schema::gpu_quantity("sm_share") < kScoreEnd);

static_assert(std::ranges::none_of(schema::kGpuQuantities, [](const schema::GpuQuantity& quantity) {
    return quantity.series.fold ==
           schema::Fold::kIncrease;  // what is counted of a device is added up over the job
}));

// Of a bucket the highest is told, not the mean.
constexpr bool is_highest(size_t quantity) {
    return schema::kGpuQuantities[quantity].series.fold == schema::Fold::kHighest;
}
constexpr auto kHighestQuantities = [] {
    constexpr auto kAll = std::views::iota(size_t{0}, kQuantities);
    std::array<size_t, std::ranges::count_if(kAll, is_highest)> highest{};
    std::ranges::copy_if(kAll, highest.begin(), is_highest);
    return highest;
}();
static_assert(std::ranges::all_of(kHighestQuantities, [](size_t i) { return i >= kFirstSampled; }));

double highest_in(const BlockColumn& values, size_t rows) {
    double highest = kMissing;
    for (size_t row = 0; row < rows; ++row) highest = highest_of(highest, values[row]);
    return highest;
}

const BlockColumn kNeverSampled = [] {
    BlockColumn column;
    column.fill(kMissing);
    return column;
}();

// For how many seconds of those that have a score a value was not sampled.
double unknown_in(const BlockColumn& values, const BlockColumn& seconds, size_t rows,
                  const ScoreBlock& scores) {
    double unknown = 0;
    for (size_t row = 0; row < rows; ++row) {
        const bool is = std::isnan(values[row]) && !std::isnan(scores.saturated[row]);
        unknown += is ? seconds[row] : 0;
    }
    return unknown;
}

// A driver's utilisation looks back a second at most (nvml.h, nvmlUtilization_t), its list of processes not
// at all.
bool nothing_runs(const GpuSample& sample, Averaging averaging) {
    return averaging == Averaging::kFine && (sample[kProcesses] == 0 || sample[kUtilization] == 0);
}

// Without counters of the pipes it is still known that nothing runs where no process or no kernel is. Returns
// for how many seconds that was so.
double fill_known_idleness(const BlockColumn& nothing_runs, const BlockColumn& seconds, size_t rows,
                           ScoreBlock& scores) {
    double idle = 0;
    for (size_t row = 0; row < rows; ++row) {
        if (nothing_runs[row] == 0) continue;
        if (!std::isnan(scores.saturated[row])) {
            scores.highest[row] = scores.saturated[row];  // limits that were not sampled were idle, too
            continue;
        }
        scores.idle[row] = 1;
        scores.gap[row] = scores.unsaturated[row] = scores.saturated[row] = scores.highest[row] = 0;
        idle += seconds[row];
    }
    return idle;
}

}  // namespace

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
      longest_sample_(std::chrono::duration_cast<core::Duration>(frame.interval * kLongestSample)),
      builder_(frame.interval) {
    windows_.first = kIdle;
    windows_.end = samples_.first = kFirstSampled;
    samples_.end = detail == Detail::kFull ? kQuantities : kScoreEnd;
    for (Block* block : {static_cast<Block*>(&windows_), static_cast<Block*>(&samples_)})
        block->until = frame.buckets > 1 ? frame.start + frame.bucket : core::Time::max();
    for (std::vector<float>& series : gpu_.series)
        series.assign(frame.buckets, std::numeric_limits<float>::quiet_NaN());
    gpu_.energy_joules = kMissing;
    gpu_.memory_total_bytes = kMissing;
    gpu_.whole.fill(kMissing);
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
    if (last_ && time - *last_ < longest_sample_) length = time - *last_;
    last_ = time;
    const double energy_joules = energy_.step(sample[kEnergy]);
    if (!is_held(time)) return true;
    bool is_gathered = true;
    for (const Window& window : builder_.add(time, sample.activity())) {
        if (window.end < time) {  // gathered from those before
            add_window(window, previous_, std::exchange(idle_so_far_, true));
        } else {
            is_gathered = false;
            add_window(window, sample, nothing_runs(sample, window.averaging));
        }
    }
    if (is_gathered) idle_so_far_ = idle_so_far_ && nothing_runs(sample, Averaging::kFine);
    if (is_gathered) previous_ = sample;
    add_totals(sample, energy_joules);
    add_sample(time, core::to_seconds(length), sample);
    return true;
}

void mend_highest(GpuDigest& gpu) {
    for (size_t i : kHighestQuantities) {
        float highest = std::numeric_limits<float>::quiet_NaN();
        for (float value : gpu.series[i]) highest = highest_of(highest, value);
        if (static_cast<float>(gpu.whole[i]) != highest) gpu.whole[i] = static_cast<double>(highest);
    }
}

void GpuDigester::finish() {
    for (const Window& window : builder_.finish()) add_window(window, previous_, idle_so_far_);
    complete(windows_);
    complete(samples_);
    gpu_.flop_use = flop_use_.mean();
    gpu_.pipes_mean = pipes_.mean();
    for (size_t i = 0; i < kQuantities; ++i)
        if (!is_highest(i)) gpu_.whole[i] = of_all_[i].mean();
}

void GpuDigester::add_window(const Window& window, const GpuSample& sample, bool idle) {
    make_room(windows_, window.end);
    const size_t row = windows_.rows++;
    windows_.ends[row] = window.end;
    windows_.lengths[row] = window.length;
    windows_.seconds[row] = core::to_seconds(window.length);
    windows_.activity.set(row, window.activity, window.averaging);
    const std::array<double, kLinks> links = sample.links();
    for (size_t i = 0; i < kLinks; ++i) windows_.links[i][row] = links[i];
    windows_.power_watts[row] = sample[kPower];
    windows_.nothing_runs[row] = idle ? 1 : 0;
}

void GpuDigester::add_totals(const GpuSample& sample, double energy_joules) {
    if (std::isnan(gpu_.energy_joules))
        gpu_.energy_joules = energy_joules;
    else if (!std::isnan(energy_joules))
        gpu_.energy_joules += energy_joules;
    for (size_t i : kHighestQuantities)
        gpu_.whole[i] = highest_of(gpu_.whole[i], value_of(schema::kGpuQuantities[i], sample, gpu_.ceilings));
    if (!std::isnan(sample[kMemoryTotal])) gpu_.memory_total_bytes = sample[kMemoryTotal];
}

void GpuDigester::add_sample(core::Time time, double seconds, const GpuSample& sample) {
    make_room(samples_, time);
    const size_t row = samples_.rows++;
    samples_.seconds[row] = seconds;
    for (size_t i = samples_.first; i < samples_.end; ++i)
        samples_.values[i][row] = value_of(schema::kGpuQuantities[i], sample, gpu_.ceilings);
}

template <typename Rows>
void GpuDigester::make_room(Rows& rows, core::Time time) {
    if (time > rows.until) {
        complete(rows);
        rows.bucket = std::min(static_cast<size_t>((time - frame_.start - core::Duration(1)) / frame_.bucket),
                               frame_.buckets - 1);
        rows.until = rows.bucket + 1 < frame_.buckets
                         ? frame_.start + frame_.bucket * (static_cast<int64_t>(rows.bucket) + 1)
                         : core::Time::max();
    } else if (rows.rows == kBlockRows) {
        add_up(rows);
    }
}

// A bucket, with all that lies in it.
template <typename Rows>
void GpuDigester::complete(Rows& rows) {
    if (rows.rows > 0) add_up(rows);
    for (size_t i = rows.first; i < rows.end; ++i) {
        if (of_bucket_[i].weight <= 0) continue;
        of_all_[i] += of_bucket_[i];
        if (!is_highest(i)) gpu_.series[i][rows.bucket] = static_cast<float>(of_bucket_[i].mean());
        of_bucket_[i] = {};
    }
}

void GpuDigester::add_quantity(size_t quantity, const BlockColumn& values, const Block& rows) {
    of_bucket_[quantity] += add_known(values, rows.seconds, rows.rows);
}

void GpuDigester::add_up(SampleRows& rows) {
    for (size_t i = rows.first; i < rows.end; ++i) {
        add_quantity(i, rows.values[i], rows);
        if (!is_highest(i)) continue;
        float& highest = gpu_.series[i][rows.bucket];
        const auto value = static_cast<float>(highest_in(rows.values[i], rows.rows));
        highest = highest_of(highest, value);
    }
    rows.rows = 0;
}

void GpuDigester::add_up(WindowRows& rows) {
    ScoreBlock scores;
    score_windows(rows.activity, rows.rows, gpu_.ceilings.ceilings, scores);
    const bool clock_counts = gpu_.ceilings.ceilings.clock_hertz > 0;
    gpu_.clock_unknown_seconds +=
        unknown_in(clock_counts ? rows.activity.clock_hertz : kNeverSampled, rows.seconds, rows.rows, scores);
    gpu_.integer_unknown_seconds += unknown_in(rows.activity.integer, rows.seconds, rows.rows, scores);
    gpu_.uncounted_seconds += fill_known_idleness(rows.nothing_runs, rows.seconds, rows.rows, scores);
    for (size_t row = 0; row < rows.rows; ++row)  // what has no score is not observed
        rows.seconds[row] = std::isnan(scores.saturated[row]) ? 0 : rows.seconds[row];
    add_scores(rows, scores);
    add_companions(rows);
    add_links(rows, scores);
    add_to_job(rows, scores);
    rows.rows = 0;
}

void GpuDigester::add_scores(const WindowRows& rows, const ScoreBlock& scores) {
    add_quantity(kIdle, scores.idle, rows);
    add_quantity(kGap, scores.gap, rows);
    add_quantity(kUnsaturated, scores.unsaturated, rows);
    add_quantity(kSaturated, scores.saturated, rows);
    for (size_t i = 0; i < kLimits; ++i) add_quantity(kUsed + i, scores.used[i], rows);
    for (size_t row = 0; row < rows.rows; ++row) {
        if (rows.seconds[row] <= 0) continue;
        const auto bin = static_cast<size_t>(scores.saturated[row] * kHistogramBins);
        gpu_.histogram[std::min(bin, kHistogramBins - 1)] += rows.seconds[row];
    }
    const WeightedSum saturated = add_known(scores.saturated, rows.seconds, rows.rows);
    if (saturated.weight <= 0) return;
    auto mean = [&](const BlockColumn& values) { return add_known(values, rows.seconds, rows.rows).mean(); };
    gpu_.totals.add(gpu_.weight, saturated.weight,
                    {.shares = {.idle = mean(scores.idle),
                                .gap = mean(scores.gap),
                                .unsaturated = mean(scores.unsaturated),
                                .saturated = saturated.mean()},
                     .highest = mean(scores.highest)});
}

void GpuDigester::add_companions(const WindowRows& rows) {
    const ActivityBlock& activity = rows.activity;
    const std::array<BlockColumn, kLimits>& active = activity.active;
    auto sum_of = [&](auto value) {
        BlockColumn values;
        for (size_t row = 0; row < rows.rows; ++row) values[row] = value(row);
        return add_known(values, rows.seconds, rows.rows);
    };
    const double observed = add_known(rows.seconds, rows.seconds, rows.rows).weight;
    gpu_.gap_unknown_seconds +=
        observed - sum_of([&](size_t row) { return activity.engine[row] + activity.sm[row]; }).weight;
    pipes_ +=
        sum_of([&](size_t row) { return active[0][row] + active[1][row] + active[2][row] + active[3][row]; });
    const double highest_clock = gpu_.ceilings.ceilings.highest_clock();
    if (highest_clock > 0)
        flop_use_ += sum_of([&](size_t row) {
            return flop_use(active[at(Limit::kTensor)][row], activity.clock_hertz[row], highest_clock);
        });
}

// For how long the device waited for a link, and for how long copies used its memory.
void GpuDigester::add_links(const WindowRows& rows, const ScoreBlock& scores) {
    for (size_t row = 0; row < rows.rows; ++row) {
        std::array<double, kLinks> links;
        for (size_t i = 0; i < kLinks; ++i) links[i] = rows.links[i][row];
        if (is_link_bound(scores.saturated[row], link_use(links, gpu_.ceilings.links)))
            gpu_.link_bound_seconds += rows.seconds[row];
        if (is_copy_driven(scores.used[at(Limit::kDram)][row], scores.saturated[row], rows.activity.sm[row]))
            gpu_.copy_driven_seconds += rows.seconds[row];
    }
}

// In each second that a window touches, for the part of it.
void GpuDigester::add_to_job(const WindowRows& rows, const ScoreBlock& scores) {
    const core::Duration second = std::chrono::seconds(1);
    for (size_t row = 0; row < rows.rows; ++row) {
        if (rows.seconds[row] <= 0) continue;
        double links = kMissing;
        for (const BlockColumn& link : rows.links)
            if (!std::isnan(link[row])) links = link[row] + (std::isnan(links) ? 0 : links);
        const std::array<float, JobSums::kColumns> values = {
            static_cast<float>(scores.saturated[row]),
            static_cast<float>(rows.activity.engine[row]),
            static_cast<float>(rows.activity.sm[row]),
            static_cast<float>(rows.activity.active[at(Limit::kTensor)][row]),
            static_cast<float>(rows.activity.active[at(Limit::kDram)][row]),
            static_cast<float>(rows.power_watts[row]),
            static_cast<float>(links),
            0};
        const core::Duration to = rows.ends[row] - frame_.start;
        core::Duration from = std::max(core::Duration::zero(), to - rows.lengths[row]);
        while (from < to) {
            const auto index = static_cast<size_t>(from / second);
            const core::Duration next = std::min(to, second * (static_cast<int64_t>(index) + 1));
            if (index >= job_.seconds.size()) return;
            job_.seconds[index].add(values, gpu_.weight, core::to_seconds(next - from));
            from = next;
        }
    }
}

}  // namespace belay::score
