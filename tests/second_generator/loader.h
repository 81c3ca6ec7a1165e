// The data loader of one rank: workers that make batches ahead of need, no more than the prefetch allows.
#pragma once

#include "timeline.h"

#include <vector>

namespace belay::second_generator {

class Loader {
  public:
    Loader(const Job& job, int rank, double start);

    // When the next batch is there, for who asks at `now`. Tells the timeline what making it took.
    double take(double now, Timeline& timeline);

  private:
    double make(double begin, Timeline& timeline);

    const Job& job_;
    int rank_;
    int64_t number_ = 0;
    std::vector<double> free_;   // by worker
    std::vector<double> taken_;  // when batches were taken, as many as are prefetched
    double last_ready_ = 0;
};

}  // namespace belay::second_generator
