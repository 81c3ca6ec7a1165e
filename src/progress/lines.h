// From a stream of bytes to lines, whatever the pieces in which it arrives.
#pragma once

#include "core/time.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace belay::progress {

inline constexpr size_t kLongestLine = size_t{64} << 10;
inline constexpr int64_t kDefaultLinesPerSecond = 10'000;

// A line ends with \n, \r\n or \r (progress bars redraw themselves so). Of a line beyond kLongestLine bytes
// the rest is dropped. How the bytes are cut into pieces makes no difference.
class LineSplitter {
  public:
    using Handler = std::function<void(std::string_view line)>;

    // Hands on each line that is complete, without its end; valid during the call.
    void feed(std::string_view bytes, const Handler& handler);
    // Hands on what stands after the last end of line, if anything. The splitter is then as new.
    void finish(const Handler& handler);

    int64_t lines_cut() const { return lines_cut_; }

  private:
    void keep(std::string_view piece);
    void hand_on(const Handler& handler);

    std::string pending_;        // of the line that is not complete; at most kLongestLine bytes
    bool cut_ = false;           // bytes of it were dropped
    bool after_return_ = false;  // the last byte was \r: a \n now belongs to it
    int64_t lines_cut_ = 0;
};

// Admits so many in each second and refuses the rest: a program that floods its output must not cost a core.
class RateLimit {
  public:
    explicit RateLimit(int64_t per_second) : per_second_(per_second) {}

    // `now` is of a clock that never goes back.
    bool admit(core::Duration now);
    int64_t refused() const { return refused_; }

  private:
    int64_t per_second_;
    int64_t admitted_ = 0;  // in the second that began at start_
    core::Duration start_{};
    int64_t refused_ = 0;
};

}  // namespace belay::progress
