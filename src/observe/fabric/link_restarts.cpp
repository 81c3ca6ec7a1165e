#include "observe/fabric/link_restarts.h"

#include <algorithm>

namespace belay::observe::fabric {

void LinkRestarts::look(const RestartTimes& times) {
    for (size_t i = 0; i < times.size(); ++i) {
        if (!times[i]) continue;
        if (!count_) count_ = 0;
        // A ring that was emptied says nothing about restarts.
        const bool is_restart = *times[i] != 0 && times_[i] && *times_[i] != *times[i];
        *count_ += is_restart ? 1 : 0;
        times_[i] = times[i];
        if (*times[i] != 0) last_seconds_ = std::max(last_seconds_.value_or(0), *times[i]);
    }
}

}  // namespace belay::observe::fabric
