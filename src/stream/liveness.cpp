#include "stream/liveness.h"

#include "core/host_name.h"

#include <algorithm>
#include <cerrno>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stream {

namespace {

constexpr core::Duration kSlack = 3 * kShowsLifeEvery;
constexpr core::Duration kLongestPeriod = std::chrono::days(1);  // a damaged session may state anything

// Whether the file was written to within the last `age`. What cannot be looked at counts as young.
bool is_younger_than(int fd, core::Duration age) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return true;
    double written =
        static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
    return core::to_seconds(core::system_clock().now().time_since_epoch()) - written < core::to_seconds(age);
}

}  // namespace

SegmentLock segment_lock(int fd) {
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return SegmentLock::kFree;
    }
    return errno == EWOULDBLOCK ? SegmentLock::kHeld : SegmentLock::kUnknown;
}

std::string this_node() {
    const std::string name = core::host_name();
    return name.substr(0, name.find('.'));
}

core::Duration longest_silence(const SegmentSummary& segment) {
    if (!segment.session) return kSlack;
    auto bounded = [](core::Duration period) {
        return std::clamp(period, core::Duration::zero(), kLongestPeriod);
    };
    return bounded(segment.session->flush) + bounded(segment.session->interval) + kSlack;
}

bool is_being_written(int fd, SegmentLock lock, const SegmentSummary& segment, std::string_view node) {
    if (lock == SegmentLock::kHeld) return true;
    if (segment.ended) return false;
    bool lock_tells = lock == SegmentLock::kFree && segment.session && segment.session->node == node;
    return !lock_tells && is_younger_than(fd, longest_silence(segment));
}

}  // namespace belay::stream
