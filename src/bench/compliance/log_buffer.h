// Reads one log after the other into the same memory: thousands of small files would else cost more page faults than
// parsing them.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::bench {

inline constexpr size_t kLargestLog = size_t{1} << 30;  // bytes

class LogBuffer {
  public:
    // The whole file; valid until the next call. Errors: kSystem; kBadInput for more than kLargestLog.
    core::Result<std::string_view> read(const std::filesystem::path& path);

  private:
    std::string buffer_;
};

}  // namespace belay::bench
