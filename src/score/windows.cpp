#include "score/windows.h"

#include <algorithm>
#include <cmath>

namespace belay::score {

namespace {

constexpr core::Duration kAboutAWindow = kWindow * 9 / 10;  // then a sample is one
constexpr core::Duration kLongestWindow = kWindow * 3 / 2;  // that is a fine one

double seconds_of(core::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

core::Duration times(core::Duration duration, double factor) {
    return std::chrono::duration_cast<core::Duration>(duration * factor);
}

// The cell of a grid of windows in which a sample ends: ]start, end].
int64_t cell_of(core::Time time) {
    const int64_t window = kWindow.count();
    const int64_t nanoseconds = core::to_nanoseconds(time) - 1;
    return nanoseconds >= 0 ? nanoseconds / window : (nanoseconds + 1) / window - 1;
}

template <typename Combine>
void for_each_signal(Activity& target, const Activity& from, Combine combine) {
    for (size_t i = 0; i < kLimits; ++i) combine(target.active[i], from.active[i]);
    combine(target.integer, from.integer);
    combine(target.tensor_fp64, from.tensor_fp64);
    combine(target.engine, from.engine);
    combine(target.sm, from.sm);
    combine(target.clock_hertz, from.clock_hertz);
}

void clear(Activity& activity) {
    for_each_signal(activity, activity, [](double& value, double) { value = 0; });
}

}  // namespace

WindowBuilder::WindowBuilder(core::Duration interval)
    : interval_(interval), longest_sample_(times(interval, kLongestSample)) {
    clear(sums_);
    clear(seconds_);
}

std::span<const Window> WindowBuilder::add(core::Time time, const Activity& activity) {
    count_ = 0;
    if (last_ && time <= *last_) return {};
    core::Duration length = interval_;
    if (last_ && time - *last_ < longest_sample_) length = time - *last_;
    last_ = time;
    if (length >= kAboutAWindow) {
        complete_gathered();
        bool coarse = length > kLongestWindow;
        complete({time, length, activity, coarse ? Averaging::kCoarse : Averaging::kFine});
    } else {
        if (cell_of(time) != cell_) complete_gathered();
        gather(time, length, activity);
    }
    return std::span(complete_).first(count_);
}

std::span<const Window> WindowBuilder::finish() {
    count_ = 0;
    complete_gathered();
    return std::span(complete_).first(count_);
}

void WindowBuilder::gather(core::Time time, core::Duration length, const Activity& activity) {
    const double seconds = seconds_of(length);
    for_each_signal(sums_, activity, [&](double& sum, double value) {
        if (!std::isnan(value)) sum += seconds * value;
    });
    for_each_signal(seconds_, activity, [&](double& sampled, double value) {
        if (!std::isnan(value)) sampled += seconds;
    });
    cell_ = cell_of(time);
    end_ = time;
    gathered_ += length;
}

void WindowBuilder::complete_gathered() {
    if (gathered_ == core::Duration::zero()) return;
    Activity means = sums_;
    for_each_signal(means, seconds_, [](double& sum, double seconds) { sum /= seconds; });  // 0/0 is missing
    complete({end_, gathered_, means, Averaging::kFine});
    gathered_ = core::Duration::zero();
    clear(sums_);
    clear(seconds_);
}

}  // namespace belay::score
