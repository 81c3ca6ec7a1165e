#include "score/job_sums.h"

#include "score/windows.h"

#include <algorithm>

namespace belay::score {

Frame make_frame(core::Time start, core::Time end, core::Duration interval) {
    Frame frame{.start = start, .interval = interval, .bucket = std::max(kWindow, interval), .buckets = 1};
    if (end <= start) return frame;
    const core::Duration least = frame.bucket;
    const auto most = static_cast<int64_t>(kMostBuckets);
    const int64_t windows = (end - start + least - core::Duration(1)) / least;
    const int64_t windows_each = (windows + most - 1) / most;
    frame.bucket = least * std::max<int64_t>(1, windows_each);
    frame.buckets = static_cast<size_t>((end - start + frame.bucket - core::Duration(1)) / frame.bucket);
    return frame;
}

size_t seconds_of(const Frame& frame) {
    const auto seconds =
        static_cast<size_t>(frame.bucket * static_cast<int64_t>(frame.buckets) / std::chrono::seconds(1));
    return seconds <= kMostSeconds ? seconds : 0;
}

void JobSums::Second::add(const std::array<float, kColumns>& values, double weight, double part) {
    for (size_t column = 0; column < kColumns; ++column) {
        const auto share = static_cast<float>(column < kMeans ? weight * part : part);
        const bool known = values[column] == values[column];
        sums[column] += known ? share * values[column] : 0;
        weights[column] += known ? share : 0;
    }
}

void JobSums::merge(const JobSums& other) {
    seconds.resize(std::max(seconds.size(), other.seconds.size()));
    for (size_t i = 0; i < other.seconds.size(); ++i)
        for (size_t column = 0; column < kColumns; ++column) {
            seconds[i].sums[column] += other.seconds[i].sums[column];
            seconds[i].weights[column] += other.seconds[i].weights[column];
        }
}

std::vector<JobWindow> add_up(const JobSums& sums, double allocated_weight) {
    std::vector<JobWindow> job;
    job.reserve(sums.seconds.size());
    for (const JobSums::Second& second : sums.seconds) {
        auto mean = [&](size_t column) { return second.sums[column] / second.weights[column]; };  // 0/0: NaN
        auto total = [&](size_t column) {
            return second.weights[column] > 0 ? second.sums[column] : static_cast<float>(kMissing);
        };
        const double observed = allocated_weight > 0 ? second.weights[0] / allocated_weight : 0;
        job.push_back({.observed = static_cast<float>(std::min(1.0, observed)),
                       .saturated = mean(0),
                       .engine = mean(1),
                       .sm = mean(2),
                       .tensor = mean(3),
                       .dram = mean(4),
                       .power_watts = total(5),
                       .link_bytes_per_second = total(6)});
    }
    return job;
}

}  // namespace belay::score
