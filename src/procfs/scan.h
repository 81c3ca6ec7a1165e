// What all parsers of /proc share: complete lines, words, and numbers that are right or absent.
//
// A text may be cut anywhere (a short read, a full buffer). A last line without its newline could hold half a
// number, so it is never looked at: every value that a parser reports is the one that the kernel wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// The kernel's unit "kB" is 1024 bytes; a sector in /proc/diskstats has 512 bytes whatever the device's own
// is.
inline constexpr int64_t kKibibyte = 1024;
inline constexpr int64_t kSectorBytes = 512;

// Takes complete lines off a text, without their newline.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}
    // False at the end.
    bool next(std::string_view& line);

  private:
    std::string_view rest_;
};

// Takes words, between blanks and tabs, off a line; "" at the end.
class Words {
  public:
    explicit Words(std::string_view line) : rest_(line) {}
    std::string_view next();
    void skip(int words);
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

// A whole decimal number of 0 or more; nothing if it is something else or beyond 63 bits, the most that a
// record holds.
std::optional<int64_t> count(std::string_view word);

// A finite decimal number of 0 or more.
std::optional<double> decimal(std::string_view word);

// value × factor; nothing without a value or beyond 63 bits.
std::optional<int64_t> scaled(std::optional<int64_t> value, int64_t factor);

}  // namespace belay::procfs
