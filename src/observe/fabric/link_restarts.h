// How often a Slingshot link was restarted. The driver keeps the times of the last ten restarts that it made
// by itself, in whole seconds, in a ring; 0 stands where there was none, and everywhere again once somebody
// brings a link up that was down (cass_lmon.c of cxi_ss1). It counts them nowhere that can be read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace belay::observe::fabric {

inline constexpr size_t kRestartTimes = 10;
using RestartTimes = std::array<std::optional<int64_t>, kRestartTimes>;  // seconds; nothing: was not read

class LinkRestarts {
  public:
    // What stands in the ring now. The first look is the beginning of the count.
    void look(const RestartTimes& times);

    // Since the first look; of more than ten between two looks, ten. Nothing before any time was read.
    std::optional<int64_t> count() const { return count_; }
    // Of the last restart, also of one before the first look: seconds since 1970.
    std::optional<int64_t> last_seconds() const { return last_seconds_; }

  private:
    RestartTimes times_;
    std::optional<int64_t> count_;
    std::optional<int64_t> last_seconds_;
};

}  // namespace belay::observe::fabric
