// Of all files that a survey is told the oldest, as many as make enough room: what the watermarks may press
// out, without keeping the rest in memory.
#pragma once

#include "stage/retention/purge_list.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace belay::stage {

struct YoungFile {
    PurgeEntry entry = {};
    int64_t time = 0;    // that counts, nanoseconds since 1970
    uint64_t bytes = 0;  // that become free; 0 of one with several names, as they do with the last of those
    uint32_t links = 1;
};
// The same order whatever thread came upon which: by time, then by path.
bool is_older(const YoungFile& a, const YoungFile& b);

// Threads may add at the same time.
class OldestFiles {
  public:
    // So many bytes and so many files have to go; either may be below 0.
    OldestFiles(double bytes, double files) : wanted_bytes_(bytes), wanted_files_(files) {}

    // False of a time at which files are too young for any that would be kept.
    bool wants(int64_t time) const { return time <= youngest_.load(std::memory_order_relaxed); }
    void add(YoungFile file);
    size_t size() const { return heap_.size(); }
    // The oldest first: as many as make room enough, all where there are fewer.
    std::vector<YoungFile> take();

  private:
    bool is_enough(double bytes, size_t files) const {
        return bytes >= wanted_bytes_ && static_cast<double>(files) >= wanted_files_;
    }

    const double wanted_bytes_;
    const double wanted_files_;
    std::atomic<int64_t> youngest_ =
        std::numeric_limits<int64_t>::max();  // of those that are kept, if enough
    std::mutex mutex_;
    double bytes_ = 0;
    std::vector<YoungFile> heap_;  // the youngest in front
};

}  // namespace belay::stage
