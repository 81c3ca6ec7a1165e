#include "loader.h"

#include "random.h"

#include <algorithm>

namespace belay::second_generator {

Loader::Loader(const Job& job, int rank, double start)
    : job_(job),
      rank_(rank),
      free_(static_cast<size_t>(std::max(1, job.work.workers)), start),
      taken_(static_cast<size_t>(std::max(1, job.work.prefetch)), start) {}

// Workers read at once and share what the storage gives, so a batch takes each of them longer than all of
// them together need for one.
double Loader::make(double begin, Timeline& timeline) {
    const Work& work = job_.work;
    const double workers = std::max(1, work.workers);
    const double noise =
        1 + 0.1 * hashed_normal(job_.seed + 11, static_cast<uint64_t>(rank_), static_cast<uint64_t>(number_));
    const double read = work.reading * workers * (1 - work.cached_share) * noise *
                        job_.factor(Quantity::kReading, rank_, begin);
    const double ask =
        work.batch_files * work.request * noise * job_.factor(Quantity::kRequest, rank_, begin);
    const double decode = work.decoding * job_.factor(Quantity::kDecoding, rank_, begin);
    const double end = begin + read + ask + decode;
    spread(timeline, rank_, &Second::read_wait, read, begin, begin + read + ask);
    spread(timeline, rank_, &Second::request_wait, ask, begin, begin + read + ask);
    spread(timeline, rank_, &Second::read_bytes, work.batch_bytes, begin, begin + read + ask);
    spread(timeline, rank_, &Second::files, work.batch_files, begin, begin + read + ask);
    spread(timeline, rank_, &Second::decoding, decode, end - decode, end);
    return end;
}

double Loader::take(double now, Timeline& timeline) {
    const int64_t number = number_;
    double ready = now;
    if (job_.work.workers == 0) {
        ready = make(now, timeline);
    } else {
        double& slot = taken_[static_cast<size_t>(number) % taken_.size()];
        double& worker = free_[static_cast<size_t>(number) % free_.size()];
        ready = make(std::max(slot, worker), timeline);
        worker = ready;
        // Batches are handed over in order.
        ready = std::max(ready, last_ready_);
        last_ready_ = ready;
        slot = std::max(now, ready);
    }
    ++number_;
    if (job_.late.every > 0 && number > 0 && number % job_.late.every == 0 && now >= job_.late.from) {
        const double begin = std::max(now, ready);
        spread(timeline, rank_, &Second::read_wait, job_.late.seconds, begin, begin + job_.late.seconds);
        spread(timeline, rank_, &Second::read_bytes, job_.work.batch_bytes * 4, begin,
               begin + job_.late.seconds);
        ready = begin + job_.late.seconds;
    }
    return std::max(now, ready);
}

}  // namespace belay::second_generator
