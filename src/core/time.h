// Time: UTC nanoseconds since 1970 as a type, ISO 8601 text, and the clock that code is given instead of
// asking the system.
#pragma once

#include "core/error.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace belay::core {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;  // UTC

constexpr Time time_from_nanoseconds(int64_t nanoseconds) {
    return Time(Duration(nanoseconds));
}
// Times of tables may be anything. Those that are further than 146 years from 1970 are taken for the nearest
// that is not, so that the difference of any two fits into a Duration.
inline constexpr int64_t kFarthestMicroseconds = std::numeric_limits<int64_t>::max() / 2 / 1000;
constexpr Time time_from_microseconds(int64_t microseconds) {
    return time_from_nanoseconds(std::clamp(microseconds, -kFarthestMicroseconds, kFarthestMicroseconds) *
                                 1000);
}
// The same; what is not a number is 1970.
constexpr Time time_from_microseconds(double microseconds) {
    if (microseconds != microseconds) return Time();
    constexpr auto kFarthest = static_cast<double>(kFarthestMicroseconds);
    if (microseconds >= kFarthest) return time_from_microseconds(kFarthestMicroseconds);
    if (microseconds <= -kFarthest) return time_from_microseconds(-kFarthestMicroseconds);
    return time_from_microseconds(static_cast<int64_t>(microseconds));
}
constexpr int64_t to_nanoseconds(Time time) {
    return time.time_since_epoch().count();
}
constexpr int64_t to_microseconds(Time time) {
    return to_nanoseconds(time) / 1000;
}
constexpr double to_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// "2026-03-01T12:00:00.123456Z", always with microseconds.
std::string format_time(Time time);
// The inverse; fractions of any length, "Z" or an offset ("+01:00"). Errors: kBadInput.
Result<Time> parse_time(std::string_view text);

// Clocks are passed in, so that a test can decide what time it is.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual Time now() const = 0;                           // wall clock
    virtual Duration monotonic() const = 0;                 // never goes back
    virtual void sleep_until(Duration monotonic_time) = 0;  // returns at once if it is past
};

Clock& system_clock();

// Stands still until it is moved.
class ManualClock : public Clock {
  public:
    explicit ManualClock(Time start) : now_(start) {}
    Time now() const override { return now_; }
    Duration monotonic() const override { return monotonic_; }
    void sleep_until(Duration monotonic_time) override {
        if (monotonic_time > monotonic_) advance(monotonic_time - monotonic_);
    }
    void advance(Duration by) {
        now_ += by;
        monotonic_ += by;
    }

  private:
    Time now_;
    Duration monotonic_{};
};

}  // namespace belay::core
