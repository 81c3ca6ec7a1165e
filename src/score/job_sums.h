// The time axis of a digest, and the job's sums along it while devices are added.
#pragma once

#include "score/digest.h"

#include <array>
#include <vector>

namespace belay::score {

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
        // For a part of it, in seconds.
        void add(const std::array<float, kColumns>& values, double weight, double part);
    };
    std::vector<Second> seconds;
    void merge(const JobSums& other);
};
// Jobs longer than this, and those whose clocks were wrong, are not followed second by second.
inline constexpr size_t kMostSeconds = size_t{1} << 21;  // 24 days, 128 MiB; of all parts together, too
// How many seconds of a frame are followed; 0 if there are too many.
size_t seconds_of(const Frame& frame);
std::vector<JobWindow> add_up(const JobSums& sums, double allocated_weight);

}  // namespace belay::score
