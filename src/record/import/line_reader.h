// Lines of a file of any size, one after the other.
#pragma once

#include "core/file.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace belay::record {

struct Line {
    std::string_view text;  // without its end; valid until the next one is taken
    int64_t number = 0;     // from 1
    bool ended = true;      // false for what stands after the last line feed
};

class LineReader {
  public:
    // Errors: kSystem.
    static core::Result<LineReader> open(const std::filesystem::path& path);
    // Nothing at the end. Of a line longer than kLongestLine only that much is given. Errors: kSystem.
    core::Result<std::optional<Line>> next();
    // That were read from the file.
    uint64_t bytes() const { return bytes_; }

    static constexpr size_t kLongestLine = size_t{1} << 16;

  private:
    LineReader(core::Descriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
    core::Result<> fill();
    Line take(size_t length, bool ended);

    core::Descriptor fd_;
    std::string name_;
    std::string buffer_;
    size_t position_ = 0;  // of the next line in the buffer
    uint64_t bytes_ = 0;
    int64_t number_ = 0;
    bool at_end_ = false;
};

// The text of the last line of a file that has its end; empty if there is none in its last 64 KiB. Errors:
// kSystem.
core::Result<std::string> last_line(const std::filesystem::path& path);

}  // namespace belay::record
