// From the samples of one device to windows of the model's length, in which inputs are averaged before
// anything is computed from them.
#pragma once

#include "core/time.h"
#include "record/series/sampling.h"
#include "score/window.h"

#include <array>
#include <optional>
#include <span>

namespace belay::score {

inline constexpr core::Duration kWindow = std::chrono::seconds(1);
using record::kLongestSample;

struct Window {
    core::Time end;
    core::Duration length{};
    Activity activity;
    Averaging averaging = Averaging::kFine;
};

// A sample is the mean over the time since the one before, at most kLongestSample intervals: what is longer
// is a gap, and missing. Samples finer than a window are averaged in it; one about as long is a window; a
// longer one is a coarse window.
class WindowBuilder {
  public:
    explicit WindowBuilder(core::Duration interval);

    // In order of time; an equal or earlier time is a duplicate and dropped. Returns the windows that are
    // complete now, at most two, valid until the next call.
    std::span<const Window> add(core::Time time, const Activity& activity);
    // The last one.
    std::span<const Window> finish();

  private:
    void gather(core::Time time, core::Duration length, const Activity& activity);
    void complete(const Window& window) { complete_[count_++] = window; }
    void complete_gathered();

    core::Duration interval_;
    core::Duration longest_sample_;
    std::optional<core::Time> last_;
    int64_t cell_ = 0;                // of the grid of windows, in which samples are gathered
    core::Time end_;                  // of the last that was gathered
    core::Duration gathered_{};       // 0: none
    Activity sums_;                   // value × seconds
    Activity seconds_;                // in which each was sampled
    std::array<Window, 2> complete_;  // of this call
    size_t count_ = 0;
};

}  // namespace belay::score
