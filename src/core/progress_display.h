// How far long work has come, on a terminal; nothing in a pipe or a log file.
//
//   ProgressDisplay display(system_clock());                       // standard error
//   display.start("reading layers", ProgressUnit::bytes(), total);
//   while (...) display.update(done);
//   display.finish();
//
//   reading layers  3.20 GB of 10.0 GB  32 %  120 MB/s  57 s left
#pragma once

#include "core/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::core {

struct ProgressUnit {
    std::string name;  // plural: "files"; empty for bytes
    static ProgressUnit bytes() { return {}; }
    static ProgressUnit items(std::string_view plural) { return {std::string(plural)}; }
};

struct ProgressState {
    std::string phase;
    ProgressUnit unit;
    uint64_t done = 0;
    std::optional<uint64_t> total;  // nothing if not known
    Duration elapsed{};             // since the phase began at 0
};

// The line, at most `width` bytes, without line feed. The rate is the mean since the beginning; it and the
// time that is left appear after a second.
std::string render_progress(const ProgressState& state, size_t width);

class ProgressDisplay {
  public:
    // Draws on `fd` if that is a terminal.
    explicit ProgressDisplay(Clock& clock, int fd = 2);
    // For tests: draws, whatever `fd` is.
    ProgressDisplay(Clock& clock, int fd, size_t width) : clock_(clock), fd_(fd), width_(width) {}
    ProgressDisplay(const ProgressDisplay&) = delete;
    ProgressDisplay& operator=(const ProgressDisplay&) = delete;
    ~ProgressDisplay() { finish(); }

    void start(std::string_view phase, ProgressUnit unit, std::optional<uint64_t> total = {});
    // Draws at most ten times a second, so it may be called for every item.
    void update(uint64_t done);
    // Removes the line; also before something else is written to the terminal.
    void finish();

  private:
    void draw();

    Clock& clock_;
    int fd_;
    size_t width_ = 0;  // 0: not a terminal
    ProgressState state_;
    Duration started_{};
    Duration drawn_{};
    bool visible_ = false;
};

}  // namespace belay::core
