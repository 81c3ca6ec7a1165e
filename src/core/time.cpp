#include "core/time.h"

#include <cerrno>
#include <ctime>
#include <limits>

#include <fmt/chrono.h>

namespace belay::core {

namespace {

class SystemClock : public Clock {
  public:
    Time now() const override {
        return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    }
    Duration monotonic() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
    void sleep_until(Duration monotonic_time) override {
        timespec until{.tv_sec = monotonic_time.count() / 1'000'000'000,
                       .tv_nsec = monotonic_time.count() % 1'000'000'000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        }
    }
};

// Reads `digits` decimal digits at the front of text and takes them off; -1 if they are not there.
int take_number(std::string_view& text, size_t digits) {
    if (text.size() < digits) return -1;
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::string format_time(Time time) {
    // floor, so that a time before 1970 keeps a positive fraction
    auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
    std::time_t unix_seconds = seconds.time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&unix_seconds, &parts);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, micros);
}

Result<Time> parse_time(std::string_view text) {
    std::string original(text);
    auto wrong = [&] {
        return bad_input("\"{}\" is not a time", original).hint("write it as 2026-03-01T12:00:00Z");
    };
    std::tm parts{};
    int year = take_number(text, 4);
    if (year < 0 || !take(text, '-')) return wrong();
    int month = take_number(text, 2);
    if (month < 1 || month > 12 || !take(text, '-')) return wrong();
    int day = take_number(text, 2);
    if (!std::chrono::year_month_day(std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(std::max(day, 0))))
             .ok())
        return wrong();
    if (!take(text, 'T') && !take(text, ' ')) return wrong();
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    parts.tm_mday = day;
    parts.tm_hour = take_number(text, 2);
    if (parts.tm_hour < 0 || parts.tm_hour > 23 || !take(text, ':')) return wrong();
    parts.tm_min = take_number(text, 2);
    if (parts.tm_min < 0 || parts.tm_min > 59 || !take(text, ':')) return wrong();
    parts.tm_sec = take_number(text, 2);
    if (parts.tm_sec < 0 || parts.tm_sec > 60) return wrong();
    int64_t fraction = 0;
    if (take(text, '.')) {
        int64_t unit = 100'000'000;
        bool any = false;
        for (int digit = take_number(text, 1); digit >= 0; digit = take_number(text, 1)) {
            fraction += digit * unit;
            unit /= 10;
            any = true;
        }
        if (!any) return wrong();
    }
    int64_t offset_minutes = 0;
    if (!take(text, 'Z')) {
        int sign = take(text, '+') ? 1 : take(text, '-') ? -1 : 0;
        int hours = take_number(text, 2);
        take(text, ':');
        int minutes = take_number(text, 2);
        if (sign == 0 || hours < 0 || minutes < 0 || hours > 14 || minutes > 59) return wrong();
        offset_minutes = sign * (hours * 60 + minutes);
    }
    if (!text.empty()) return wrong();
    int64_t seconds = timegm(&parts) - offset_minutes * 60;
    constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 1'000'000'000;  // 292 years around 1970
    if (seconds >= kLimit || seconds <= -kLimit)
        return bad_input("\"{}\" is too far from 1970", original).hint("use a time between 1678 and 2261");
    return time_from_nanoseconds(seconds * 1'000'000'000 + fraction);
}

Clock& system_clock() {
    static SystemClock clock;
    return clock;
}

}  // namespace belay::core
