#include "core/stall_watch.h"

#include <algorithm>

namespace belay::core {

namespace {

constexpr Duration kLongestInterval = std::chrono::seconds(1);
constexpr Duration kShortestInterval = std::chrono::milliseconds(1);

}  // namespace

Duration StallWatch::interval() const {
    return patience_ == Duration::zero() ? kLongestInterval
                                         : std::clamp(patience_ / 4, kShortestInterval, kLongestInterval);
}

std::optional<FileCall> StallWatch::look() {
    const Duration now = clock_.monotonic();
    // A pause of this process (Ctrl-Z, a suspended job) does not count as silence of the server.
    const Duration passed = std::min(now - looked_, 2 * interval());
    looked_ = now;
    std::map<pid_t, Seen> seen;
    std::optional<FileCall> stalled;
    for (pid_t thread : threads_of(process_)) {
        auto current = thread_in_file_call(process_, thread);
        if (!current) continue;
        Seen& one = seen[thread];
        if (auto before = threads_.find(thread);
            before != threads_.end() && before->second.evidence == current->evidence)
            one.still = before->second.still + passed;
        one.evidence = std::move(current->evidence);
        const Duration allowed = patience_ * (current->call.carries_data ? kDataFactor : 1);
        if (patience_ > Duration::zero() && one.still >= allowed && !stalled)
            stalled = std::move(current->call);
    }
    threads_ = std::move(seen);
    return stalled;
}

}  // namespace belay::core
