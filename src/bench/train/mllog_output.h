// MLLOG lines of a training run, from one rank to one descriptor, each written whole and at once.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "progress/mllog.h"

#include <optional>
#include <source_location>
#include <string_view>

namespace belay::bench {

class MllogOutput {
  public:
    // `fd` is borrowed; -1 writes nothing, for the ranks that keep quiet.
    MllogOutput(int fd, const core::Clock& clock) : fd_(fd), clock_(clock) {}

    // `metadata` comes after the source place, which MLLOG wants as `file` and `lineno`.
    void event(std::string_view key, const progress::Json& value, const progress::Json& metadata = {},
               std::source_location place = std::source_location::current()) {
        write(progress::kPointInTime, key, value, metadata, place);
    }
    void start(std::string_view key, const progress::Json& metadata = {},
               std::source_location place = std::source_location::current()) {
        write(progress::kIntervalStart, key, nullptr, metadata, place);
    }
    void stop(std::string_view key, const progress::Json& metadata = {},
              std::source_location place = std::source_location::current()) {
        write(progress::kIntervalEnd, key, nullptr, metadata, place);
    }

    // Why the log is not whole: what follows the first line that could not be written is missing, and the training went on.
    const std::optional<core::Error>& failure() const { return failure_; }

  private:
    void write(std::string_view event_type, std::string_view key, const progress::Json& value,
               const progress::Json& metadata, const std::source_location& place);

    int fd_;
    const core::Clock& clock_;
    std::optional<core::Error> failure_;
};

}  // namespace belay::bench
