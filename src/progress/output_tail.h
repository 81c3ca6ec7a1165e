// What a program printed last, for the case that it fails.
//
//   OutputTail tail;
//   tail.feed(bytes);                                        // as they come
//   for (const std::string& line : tail.lines()) ...         // at its end
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::progress {

// Not thread-safe.
class OutputTail {
  public:
    static constexpr size_t kMostBytes = size_t{16} << 10;  // that are looked at
    static constexpr size_t kMostLines = 40;
    static constexpr size_t kLongestLine = 500;  // bytes

    // At the cost of a copy. Takes at most twice kMostBytes of memory.
    void feed(std::string_view bytes);

    // The last lines: valid UTF-8 without escape sequences, secrets masked (secrets.h), blank lines and those
    // that a progress bar wrote over left out, long ones cut. How the bytes came in pieces makes no
    // difference.
    std::vector<std::string> lines() const;

  private:
    std::string bytes_;    // the last ones
    bool is_cut_ = false;  // there were others before
};

}  // namespace belay::progress
