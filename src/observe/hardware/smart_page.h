// For tests: the page of a SMART log, number by number.
#pragma once

#include "observe/hardware/smart_log.h"

#include <cstdint>
#include <string>

namespace belay::observe::hardware::testing {

class SmartPage {
  public:
    // A little-endian number of `size` bytes.
    SmartPage& put(size_t at, size_t size, uint64_t value) {
        for (size_t i = 0; i < size; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i));
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_ = std::string(kSmartLogBytes, '\0');
};

}  // namespace belay::observe::hardware::testing
