// Reads one log after the other into the same memory: thousands of small files would else cost more page faults than
// parsing them.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::bench {

class LogBuffer {
  public:
    // The whole file; valid until the next call. Errors: kSystem; kBadInput for more than kMostLogBytes.
    core::Result<std::string_view> read(const std::filesystem::path& path);

  private:
    std::string buffer_;
};

}  // namespace belay::bench
