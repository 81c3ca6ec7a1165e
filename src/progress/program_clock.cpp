#include "progress/program_clock.h"

#include "core/text.h"

#include <chrono>

namespace belay::progress {

namespace {

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
    int value = 0;
    for (size_t i = at; i < at + count; ++i) {
        if (text[i] < '0' || text[i] > '9') return std::nullopt;
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

// As if it were UTC.
std::optional<core::Time> stamp_of(std::string_view line) {
    constexpr std::string_view kShape = "0000-00-00 00:00:00";
    if (line.starts_with('[')) line.remove_prefix(1);
    if (line.size() < kShape.size() || line[4] != '-' || line[7] != '-' ||
        (line[10] != ' ' && line[10] != 'T') || line[13] != ':' || line[16] != ':')
        return std::nullopt;
    const auto year = digits(line, 0, 4), month = digits(line, 5, 2), day = digits(line, 8, 2);
    const auto hour = digits(line, 11, 2), minute = digits(line, 14, 2), second = digits(line, 17, 2);
    if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(*year),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    return core::Time(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                      std::chrono::minutes(*minute) + std::chrono::seconds(*second));
}

// Of a stamp from our own clock: local time is at most 14 hours from UTC.
constexpr core::Duration kFarthestZone = std::chrono::hours(15);
constexpr int kLinesBehind = 3;  // after a jump, for it to count (Belay's choice)

// Whole hours; one hour is what the end of summer time takes.
bool is_other_zone(core::Duration back) {
    const auto hours = std::chrono::round<std::chrono::hours>(back);
    return hours >= std::chrono::hours(2) && std::chrono::abs(back - hours) < ProgramClock::kLeastJump;
}

}  // namespace

bool ProgramClock::believe(core::Time stated) {
    const bool is_behind = latest_ && stated + kLeastJump < *latest_;
    if (is_behind && !is_behind_) events_.add(*latest_ - stated);
    is_behind_ = is_behind;
    if (!is_behind) latest_ = latest_ ? std::max(*latest_, stated) : stated;
    return !is_behind;
}

void ProgramClock::read(std::string_view line, core::Time now) {
    const auto stamp = stamp_of(line);
    if (!stamp || std::chrono::abs(*stamp - now) > kFarthestZone) return;
    const core::Duration step = stamp_ ? *stamp - *stamp_ : core::Duration{};
    stamp_ = stamp;
    if (step < -kLeastJump) {
        back_.reset();
        if (!is_other_zone(-step)) back_ = Back{.by = -step, .lines = 1, .before = stamps_};
    } else if (back_ && step > back_->by - kLeastJump) {
        // As far forward as it went back: the lines between were printed by another clock.
        stamps_ = back_->before;
        back_.reset();
    } else if (back_ && ++back_->lines == kLinesBehind) {
        stamps_.add(back_->by);
    }
}

}  // namespace belay::progress
