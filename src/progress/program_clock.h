// Whether the times that a program prints go on. They go back where somebody sets the clock of the node, or
// where a program prints local time and summer time ends; then our own clock, by which each line was read, is
// the one to believe.
#pragma once

#include "core/time.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::progress {

class ProgramClock {
  public:
    // Lines of several processes may be out of order, and output may be held back: less than this is no jump
    // (Belay's choice).
    static constexpr core::Duration kLeastJump = std::chrono::seconds(60);

    // Whether a time that an event states can be believed: not if it lies before what was stated already.
    bool believe(core::Time stated);
    // Looks for a time at the beginning of a line that was read at `now`: "2026-11-26 12:48:48", also with
    // "T" or in brackets. Its zone is not known, so it only tells jumps. A jump counts when the lines after
    // it are behind as well: lines of data have times of other days, and two libraries may print in two
    // zones.
    void read(std::string_view line, core::Time now);

    int64_t jumps() const { return events_.count + stamps_.count; }  // back
    core::Duration longest_jump() const { return std::max(events_.longest, stamps_.longest); }

  private:
    struct Jumps {
        int64_t count = 0;
        core::Duration longest{};
        void add(core::Duration back) {
            ++count;
            longest = std::max(longest, back);
        }
    };
    struct Back {
        core::Duration by{};
        int lines = 0;  // that are behind
        Jumps before;
    };

    std::optional<core::Time> latest_;  // stated by events
    bool is_behind_ = false;            // of the last event
    std::optional<core::Time> stamp_;   // of the last line with one
    std::optional<Back> back_;          // the last jump of stamps
    Jumps events_, stamps_;
};

}  // namespace belay::progress
