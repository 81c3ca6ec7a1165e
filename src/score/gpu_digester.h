// Digests the samples of one device, one by one. Pure: what reads them from a record is digest_query.h.
#pragma once

#include "score/digest.h"
#include "score/windows.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace belay::score {

// One row of the table `gpu`; NaN where it has nothing.
struct GpuSample {
    Activity activity;
    double occupancy = std::numeric_limits<double>::quiet_NaN();
    double utilization = std::numeric_limits<double>::quiet_NaN();
    double power_watts = std::numeric_limits<double>::quiet_NaN();
    double temperature_celsius = std::numeric_limits<double>::quiet_NaN();
    double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();
    double memory_total_bytes = std::numeric_limits<double>::quiet_NaN();
    double energy_joules_total = std::numeric_limits<double>::quiet_NaN();
    double clock_event_reasons = std::numeric_limits<double>::quiet_NaN();
    double processes = std::numeric_limits<double>::quiet_NaN();
    // B/s, both directions together, by Link
    std::array<double, kLinks> links = {std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::quiet_NaN()};
};

// Where in time a digest lies.
struct Frame {
    core::Time start;
    core::Duration interval{};  // of sampling
    core::Duration bucket{};
    size_t buckets = 0;
};

// At most kMostBuckets buckets, each at least a window and an interval long, that hold [start, end].
Frame make_frame(core::Time start, core::Time end, core::Duration interval);

// Sums of the job's windows while devices are added; add_up() makes JobWindows of them.
struct JobSums {
    static constexpr size_t kColumns = 8;  // those of JobWindow
    static constexpr size_t kMeans = 5;    // of them, the first are means over devices, the others sums
    struct alignas(32) Second {
        std::array<float, kColumns> sums{};
        std::array<float, kColumns> weights{};
    };
    std::vector<Second> seconds;
    void merge(const JobSums& other);
};
// Jobs longer than this, and those whose clocks were wrong, are not followed second by second.
inline constexpr size_t kMostSeconds = size_t{1} << 21;  // 24 days, 128 MiB
// How many seconds of a frame are followed; 0 if there are too many.
size_t seconds_of(const Frame& frame);
std::vector<JobWindow> add_up(const JobSums& sums, double allocated_weight);

// When a device was the job's: intervals in order, without overlap.
using Held = std::vector<std::pair<core::Time, core::Time>>;
// The same time as intervals in order, without overlap.
Held united(Held intervals);

class GpuDigester {
  public:
    // `gpu` has what the device is; the rest of it is filled, by finish() at the latest. Both and `job` must
    // stay where they are. Samples outside `held` are not the job's.
    GpuDigester(GpuDigest& gpu, JobSums& job, const Frame& frame, Held held, Detail detail = Detail::kFull);

    // False if the sample is older than the one before: then the rows are not in order, and the digest is
    // worth nothing. One of the same time is a duplicate and changes nothing.
    bool add(core::Time time, const GpuSample& sample);
    void finish();

  private:
    static constexpr size_t kWide = 32;  // floats that are added at once
    struct alignas(32) Bucket {
        std::array<float, kWide> sums{};
        std::array<float, kWide> seconds{};
    };
    // A bucket in the making, of quantities [first, last).
    struct Gathering {
        size_t first;
        size_t last;
        size_t bucket = 0;
        bool any = false;
        Bucket sums;
    };

    bool is_held(core::Time time) const;
    void add_window(const Window& window, const GpuSample& sample);
    void add_sample(core::Time time, double seconds, const GpuSample& sample);
    void add_to_job(const Window& window, const GpuSample& sample, const WindowScore& score);
    void add_highest(size_t bucket, Quantity quantity, double value);
    void gather(Gathering& gathering, core::Time end, float seconds, const std::array<float, kWide>& values);
    void complete(Gathering& gathering);
    size_t bucket_of(core::Time end) const;

    GpuDigest& gpu_;
    JobSums& job_;
    Frame frame_;
    Held held_;
    WindowBuilder builder_;
    std::optional<core::Time> last_;
    GpuSample previous_;  // where several samples make a window
    double last_energy_ = std::numeric_limits<double>::quiet_NaN();
    FlopUse flop_use_;
    double pipes_ = 0;
    double pipes_seconds_ = 0;
    Gathering windows_;
    Gathering samples_;
    std::array<double, kQuantities> sums_{};
    std::array<double, kQuantities> seconds_{};
};

}  // namespace belay::score
