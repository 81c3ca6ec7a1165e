// A short file of /sys that stays open and is read again at every tick, without allocating.
#pragma once

#include "core/file.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::hardware {

class SensorFile {
  public:
    SensorFile() = default;
    explicit SensorFile(std::filesystem::path path) : path_(std::move(path)) {}

    // What stands in it, as far as it fits into `buffer`; "" where it cannot be read, and error() says why.
    // Opens it first, and again after a failure: it may come back.
    std::string_view read(std::span<char> buffer);
    // parse_sensor_number() of that.
    std::optional<int64_t> number();

    int error() const { return error_; }  // errno of the last read; 0 where it succeeded
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    core::Descriptor fd_;
    int error_ = 0;
};

// parse_name() of a file; "" where it cannot be read.
std::string name_in(const std::filesystem::path& path);

// The names in a directory of /sys or /proc, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& directory);

}  // namespace belay::observe::hardware
