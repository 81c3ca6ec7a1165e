// How often to write a checkpoint, so that what writing costs and what a failure loses are least together.
//
//   C  seconds that training waits for one checkpoint (of an asynchronous one, the blocking part)
//   M  mean seconds between interruptions of the whole job
//   R  seconds from an interruption until training goes on
//
//   young         sqrt(2 C M)                                          J. W. Young, CACM 17(9), 1974
//   restart       sqrt(2 C (M + R))                                    likewise, an interruption costs R besides
//   daly          sqrt(2CM) (1 + sqrt(C/2M)/3 + C/18M) - C, C < 2M     J. T. Daly, FGCS 22(3), 2006, eq. 37
//   availability  C + sqrt(2 C (M + R) + C^2)                          arXiv 2410.18124; the period, the write included
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace belay::stage {

struct CheckpointCost {
    double write_seconds = 0;    // C
    double mtbf_seconds = 0;     // M
    double restart_seconds = 0;  // R
    std::optional<double> step_seconds = {};
};

struct CheckpointModel {
    std::string_view name;
    std::string_view formula;
    double (*interval)(const CheckpointCost& cost);  // seconds
};
std::span<const CheckpointModel> checkpoint_models();
inline constexpr std::string_view kUsualModel = "restart";  // "young" where R is 0, which is the same

struct CheckpointAdvice {
    std::string_view model;
    double interval_seconds = 0;
    std::optional<int64_t> interval_steps;  // whole steps within it, 1 at least
    double lost_share = 0;                  // of the job's time at this interval
    double model_seconds = 0;               // what the model says
    bool at_floor = false;                  // which is less than 10 C
};

// The interval may not fall below this many C.
inline constexpr double kLeastIntervalInWrites = 10;

// C / T + (T / 2 + R) / M: of the time, what writing and interruptions take at an interval of T seconds. 1
// where a job gets nowhere: it is interrupted more often than it can go on.
double lost_share(const CheckpointCost& cost, double interval_seconds);

// Errors: kBadInput for a time that is not positive, an unknown model.
core::Result<CheckpointAdvice> advise(const CheckpointCost& cost, std::string_view model = kUsualModel);

// M of a job on `devices` GPUs, from what was seen on others: failures that interrupted jobs of so many
// GPU-hours. Where nothing is known of the site: 419 in 54 days on 16,384 GPUs (Llama 3, arXiv 2407.21783,
// section 3.3.4).
double mtbf_of(int64_t devices, double failures, double device_hours);
inline constexpr double kKnownFailures = 419;
inline constexpr double kKnownDeviceHours = 54.0 * 24 * 16384;

}  // namespace belay::stage
