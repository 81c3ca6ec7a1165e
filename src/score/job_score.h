// What a digest comes to: the score with its bounds, and what stands beside it.
#pragma once

#include "score/digest.h"

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::score {

// What holds the job back, from the activity of the pipes against that of DRAM, both in terms of their peaks
// (a roofline). `kLink` where most of its time is link-bound; `kNone` where it is near no limit at all.
enum class Bound : uint8_t { kNone, kCompute, kMemory, kLink };
std::string_view to_text(Bound bound);
// Below this mean use of every limit a job is bound by none of them (Belay's choice: that of a spinning
// kernel in the acceptance properties).
inline constexpr double kNearNothing = 0.05;

struct PartScore {
    std::string node;
    std::string device;  // empty for a node
    std::string name;    // model of the GPU, with the profile of a slice
    int64_t index = 0;
    Score score;
};

struct JobScore {
    Score score;
    double allocated_seconds = 0;           // of devices, by weight; of CPUs where there are no devices
    bool sampled = false;                   // anything, be it no more than utilisation
    std::optional<double> startup_seconds;  // nothing if it never ran steadily
    double steady_state = 0;                // NaN without start-up
    double busy_engine = 0;                 // mean, 0 to 1; NaN if not sampled
    double busy_sm = 0;
    std::optional<Bound> bound;   // nothing where a limit that was not sampled may decide it
    double link_bound_share = 0;  // of the observed time
    double imbalance = 0;
    Burstiness burstiness;
    double energy_wh = 0;                                          // NaN if a device has no counter
    double saturated_hours_per_kwh = 0;                            // of the devices with a counter
    double flop_use = 0;                                           // OFU; of CPUs, of what OpenBLAS reaches
    double memory_use = std::numeric_limits<double>::quiet_NaN();  // of CPUs: of the bandwidth of STREAM
    double others_busy =
        std::numeric_limits<double>::quiet_NaN();  // of CPUs: of the nodes' CPU time, used by others
    double memory_peak_bytes = 0;
    bool calibrated = false;       // all ceilings were measured
    std::string ceilings_version;  // the latest date of those used, and where they are from
    std::vector<PartScore> gpus;   // by node and index
    std::vector<PartScore> nodes;
    std::vector<std::string> meaning;  // three lines that say what the number means; of CPUs
    std::vector<std::string> notes;    // what a reader has to know of the numbers
};

// Without a point where no limit was ever sampled: moments of known idleness say nothing of the busy time
// between them.
Score score_of_device(const GpuDigest& gpu);

// Pure.
JobScore score_job(const Digest& digest);

// The job's mean saturation, second by second, without the seconds in which nothing was sampled.
std::vector<Stretch> stretches(const Digest& digest);

}  // namespace belay::score
