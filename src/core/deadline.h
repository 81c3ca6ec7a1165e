// A point in time until which something is waited for, on the clock that it was made with. Every call that
// waits takes one, so that a chain of calls has one bound.
//
//   Deadline deadline = Deadline::after(5s);
//   poll(&entry, 1, deadline.poll_milliseconds());
//   if (deadline.is_over()) ...
#pragma once

#include "core/time.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace belay::core {

class Deadline {
  public:
    Deadline() : Deadline(system_clock(), Duration::max()) {}  // never
    // The clock must live longer than the deadline. A time that is not positive is over at once.
    static Deadline after(Duration allowed, const Clock& clock = system_clock()) {
        Duration now = clock.monotonic();
        return Deadline(clock, allowed > Duration::max() - now ? Duration::max() : now + allowed);
    }
    static Deadline never() { return Deadline(system_clock(), Duration::max()); }

    bool is_never() const { return end_ == Duration::max(); }
    bool is_over() const { return !is_never() && clock_->monotonic() >= end_; }
    // Never negative; Duration::max() where there is no end.
    Duration left() const {
        return is_never() ? end_ : std::max(end_ - clock_->monotonic(), Duration::zero());
    }
    // For poll(2): rounded up, so that a wait that it ended is over; -1 where there is no end.
    int poll_milliseconds() const {
        if (is_never()) return -1;
        auto left_milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left()).count();
        return static_cast<int>(std::min<int64_t>(left_milliseconds, std::numeric_limits<int>::max()));
    }
    // This one, or that long from now if it is earlier.
    Deadline but_within(Duration longest) const { return std::min(*this, after(longest, *clock_)); }

    Deadline later_by(Duration duration) const {
        Deadline later = *this;
        if (!is_never()) later.end_ += duration;
        return later;
    }
    // By their ends; only for deadlines of one clock.
    friend bool operator<(const Deadline& a, const Deadline& b) { return a.end_ < b.end_; }

  private:
    Deadline(const Clock& clock, Duration end) : clock_(&clock), end_(end) {}

    const Clock* clock_;
    Duration end_;  // monotonic; max: never
};

}  // namespace belay::core
