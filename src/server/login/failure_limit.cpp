#include "server/login/failure_limit.h"

#include <algorithm>

namespace belay::server {

double FailureLimit::level_now(const std::string& peer) {
    const Level* level = levels_.find(peer);
    if (level == nullptr) return 0;
    const double recovered =
        core::to_seconds(clock_.monotonic() - level->at) / core::to_seconds(options_.recovery);
    return std::max(0.0, level->failures - recovered);
}

bool FailureLimit::is_reached(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    return level_now(peer) > options_.burst - 1;
}

void FailureLimit::count(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    const double level = level_now(peer);
    levels_.put(peer, {.failures = std::min(level + 1, options_.burst), .at = clock_.monotonic()});
}

size_t FailureLimit::peers() const {
    const std::lock_guard lock(mutex_);
    return levels_.size();
}

}  // namespace belay::server
