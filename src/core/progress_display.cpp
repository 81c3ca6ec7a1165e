#include "core/progress_display.h"

#include "core/file.h"
#include "core/terminal.h"
#include "core/units.h"
#include "core/utf8.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr Duration kBetweenDraws = std::chrono::milliseconds(100);
constexpr Duration kBeforeRate = std::chrono::seconds(1);
constexpr size_t kDefaultWidth = 80;
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string amount(uint64_t value, const ProgressUnit& unit) {
    return unit.name.empty() ? format_decimal({value}) : fmt::format("{}", value);
}

std::string rate_text(double per_second, const ProgressUnit& unit) {
    if (unit.name.empty()) return format_bytes_per_second(per_second);
    int decimals = per_second < 9.95 ? 2 : per_second < 99.5 ? 1 : 0;
    return fmt::format("{:.{}f} {}/s", per_second, decimals, unit.name);
}

}  // namespace

std::string render_progress(const ProgressState& state, size_t width) {
    std::string line = printable(state.phase) + "  " + amount(state.done, state.unit);
    if (state.total) line += " of " + amount(*state.total, state.unit);
    if (!state.unit.name.empty()) line += " " + state.unit.name;
    if (state.total && *state.total > 0) {
        double share = std::min(1.0, static_cast<double>(state.done) / static_cast<double>(*state.total));
        line += fmt::format("  {:.0f} %", std::floor(100 * share));  // 100 % only when it is done
    }
    double seconds = to_seconds(state.elapsed);
    if (state.elapsed >= kBeforeRate && state.done > 0) {
        double per_second = static_cast<double>(state.done) / seconds;
        line += "  " + rate_text(per_second, state.unit);
        // An estimate beyond this is no information.
        constexpr double kLongest = 30 * 86'400;
        double left = state.total && *state.total > state.done
                          ? static_cast<double>(*state.total - state.done) / per_second
                          : 0;
        if (left > 0 && left < kLongest)
            line +=
                "  " + format_duration(std::chrono::seconds(static_cast<int64_t>(std::ceil(left)))) + " left";
    }
    return std::string(utf8_prefix(line, width));
}

ProgressDisplay::ProgressDisplay(Clock& clock, int fd) : clock_(clock), fd_(fd) {
    if (isatty(fd) == 0) return;
    const size_t columns = terminal_columns(fd, kDefaultWidth);
    width_ = columns > 1 ? columns : kDefaultWidth;
}

void ProgressDisplay::start(std::string_view phase, ProgressUnit unit, std::optional<uint64_t> total) {
    finish();
    state_ = {.phase = std::string(phase), .unit = std::move(unit), .done = 0, .total = total, .elapsed = {}};
    started_ = clock_.monotonic();
    if (width_ > 0) draw();
}

void ProgressDisplay::update(uint64_t done) {
    state_.done = done;
    if (width_ == 0) return;
    if (!visible_ || clock_.monotonic() - drawn_ >= kBetweenDraws) draw();
}

void ProgressDisplay::draw() {
    drawn_ = clock_.monotonic();
    state_.elapsed = drawn_ - started_;
    // The last column stays free: some terminals wrap there. A terminal that is gone must not end the work.
    (void)write_all(fd_, std::string(kEraseLine) + render_progress(state_, width_ - 1), "the terminal");
    visible_ = true;
}

void ProgressDisplay::finish() {
    if (visible_) (void)write_all(fd_, kEraseLine, "the terminal");
    visible_ = false;
}

}  // namespace belay::core
