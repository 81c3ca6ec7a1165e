// What one line of a training program tells about its progress: a row of the record's table `progress`
// without node and task.
#pragma once

#include "core/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::progress {

// Values of `source` and `kind`.
inline constexpr std::string_view kFromMllog = "mllog";
inline constexpr std::string_view kFromPattern = "pattern";
inline constexpr std::string_view kTrain = "train";
inline constexpr std::string_view kEvaluation = "evaluation";
inline constexpr std::string_view kMark = "mark";  // anything else that was logged

// Fields are named and measured as the columns of record/tables/progress.h. What the line does not tell is
// nothing.
struct ProgressEvent {
    std::string_view source;         // one of the constants above
    std::string_view kind;           // likewise
    std::optional<core::Time> time;  // that the line states
    std::optional<std::string> key;  // of an MLLOG event
    std::optional<double> epoch;
    std::optional<int64_t> step;
    std::optional<int64_t> total_steps;
    std::optional<double> loss;
    std::optional<double> metric;
    std::optional<double> learning_rate;
    std::optional<double> gradient_norm;
    std::optional<double> step_seconds;
    std::optional<double> data_wait_seconds;
    std::optional<double> exposed_communication_seconds;
    std::optional<double> samples_per_second;
    std::optional<double> flops_per_second;
    std::optional<double> fp64_flops_per_second;
    std::optional<double> fp32_flops_per_second;
    std::optional<double> memory_bytes_per_second;
    std::optional<double> tokens_per_second;
    std::optional<int64_t> samples;
    std::optional<int64_t> tokens;
    std::optional<double> value;
    // JSON, at most 4 KiB: a value that is not a number, or {"loss":"NaN"} where the line told numbers that
    // are not finite.
    std::optional<std::string> text;

    bool operator==(const ProgressEvent&) const = default;
};

}  // namespace belay::progress
